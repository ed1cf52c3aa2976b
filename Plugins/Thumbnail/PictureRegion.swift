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
    "type": "object",
    "additionalProperties": false,
    "required": ["x", "y", "width", "height"],
    "properties": [
      "x": number("Pixels left of it.", from: 0),
      "y": number("Pixels above it.", from: 0),
      "width": number("Its width in pixels.", from: 1),
      "height": number("Its height in pixels.", from: 1),
    ],
    "description": """
    The part of the picture to show, in pixels before scaling: of the upright picture if it is \
    rotated, otherwise of the picture as stored. What lies outside the picture is left out; a region \
    that lies outside altogether is an error.
    """,
  ]

  private static func number(_ text: JSONValue, from least: Int) -> JSONValue {
    [
      "type": "integer", "minimum": .integer(least), "maximum": .integer(most), "description": text,
    ]
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

extension PictureRegion: Decodable {
  private enum Key: String, CodingKey, CaseIterable { case x, y, width, height }

  init(from decoder: any Decoder) throws {
    try decoder.refuseUnknownOptions(known: Key.allCases.map(\.rawValue))
    let values = try decoder.container(keyedBy: Key.self)
    x = try values.decode(Int.self, forKey: .x)
    y = try values.decode(Int.self, forKey: .y)
    width = try values.decode(Int.self, forKey: .width)
    height = try values.decode(Int.self, forKey: .height)
    try check(x, in: 0...Self.most, "x", decoder)
    try check(y, in: 0...Self.most, "y", decoder)
    try check(width, in: 1...Self.most, "width", decoder)
    try check(height, in: 1...Self.most, "height", decoder)
  }
}
