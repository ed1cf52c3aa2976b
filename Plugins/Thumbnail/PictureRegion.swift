import PipelineModel
import PipelinePlugin

/// A part of a picture, in pixels before scaling.
struct PictureRegion: Hashable, Sendable {
  var x: Int
  var y: Int
  var width: Int
  var height: Int

  /// More pixels in a row, or rows, than any picture has.
  static let most = 1 << 24

  static let schema: JSONValue = [
    "type": "array",
    "items": ["type": "integer", "minimum": 0, "maximum": .integer(most)],
    "maxItems": 4,
    "default": [],
    "description": """
    The part of the picture to show: x, y, width and height in pixels before scaling, of the upright \
    picture if it is rotated, otherwise of the picture as stored. What lies outside the picture is left \
    out; a region that lies outside altogether is an error. Empty for the whole picture.
    """,
  ]

  /// The same region of a picture whose longer side has another length, as a preview's.
  func scaled(from longer: Int, to other: Int) -> PictureRegion {
    if longer == other || longer < 1 { return self }
    func scaled(_ number: Int) -> Int {
      Int((Double(number) * Double(other) / Double(longer)).rounded())
    }
    let (left, top) = (scaled(x), scaled(y))
    return PictureRegion(
      x: left, y: top, width: max(1, scaled(x + width) - left),
      height: max(1, scaled(y + height) - top))
  }

  /// The part of it that lies within a picture; `nil` if none does.
  func clipped(width pictureWidth: Int, height pictureHeight: Int) -> PictureRegion? {
    guard x < pictureWidth, y < pictureHeight else { return nil }
    return PictureRegion(
      x: x, y: y, width: min(width, pictureWidth - x), height: min(height, pictureHeight - y))
  }

  /// The same region in the picture as stored.
  ///
  /// - Parameters:
  ///   - orientation: EXIF's, by which the stored picture becomes upright.
  ///   - storedWidth: the width of the stored picture.
  ///   - storedHeight: the height of the stored picture.
  /// - Source: CIPA DC-008, “Orientation”.
  func stored(orientation: Int, storedWidth: Int, storedHeight: Int) -> PictureRegion {
    var region = self
    // From 5 on, rows of the upright picture are columns of the stored one.
    if orientation > 4 {
      region = PictureRegion(x: y, y: x, width: height, height: width)
    }
    if [2, 3, 7, 8].contains(orientation) { region.x = storedWidth - region.x - region.width }
    if [3, 4, 6, 7].contains(orientation) { region.y = storedHeight - region.y - region.height }
    return region
  }
}

extension PictureRegion {
  /// Reads the option; `nil` for the whole picture.
  static func decode(from decoder: any Decoder) throws -> PictureRegion? {
    let numbers = try [Int](from: decoder)
    if numbers.isEmpty { return nil }
    guard numbers.count == 4 else {
      throw invalid("region has \(numbers.count) numbers; it has x, y, width and height", decoder)
    }
    for (name, number) in zip(["x", "y", "width", "height"], numbers) {
      try check(number, in: (name == "x" || name == "y" ? 0 : 1)...most, name, decoder)
    }
    return PictureRegion(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])
  }
}
