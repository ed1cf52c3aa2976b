import Ingest
import LibrarySession
import PipelineModel

/// What an address asks for of an image, as it is written. Source: IIIF Image API 3.0, section 4.
struct ImageParameters: Hashable, Sendable {
  enum Region: Hashable, Sendable {
    case full, square
    case pixels(x: Int, y: Int, width: Int, height: Int)
    case percent(x: Double, y: Double, width: Double, height: Double)
  }

  enum Size: Hashable, Sendable {
    case max
    case width(Int)
    case height(Int)
    case percent(Double)
    case exact(Int, Int)
    /// As large as fits.
    case within(Int, Int)
  }

  var region: Region
  var size: Size
  /// Whether the size may be larger than the region: it begins with `^`.
  var mayEnlarge: Bool
  var finish: PictureKey.Finish
  var format: PictureKey.Format

  /// The extensions of the formats that there are.
  static let formats: [(name: String, format: PictureKey.Format)] = [
    ("jpg", .jpeg), ("png", .png), ("webp", .webp),
  ]

  /// Reads the four segments behind the identifier.
  ///
  /// - Throws: 400 for what is not written as it must be, 501 for what the standard knows and this server
  ///   does not.
  init(_ segments: ArraySlice<String>) throws(HTTPError) {
    guard segments.count == 4 else { throw .notFound }
    let words = Array(segments)
    region = try Self.region(words[0])
    (size, mayEnlarge) = try Self.size(words[1])
    let (rotation, isMirrored) = try Self.rotation(words[2])
    let end = words[3].split(separator: ".", omittingEmptySubsequences: false)
    guard end.count == 2 else { throw .badRequest("An image ends with QUALITY.FORMAT.") }
    finish = PictureKey.Finish(
      rotation: rotation, isMirrored: isMirrored, quality: try Self.quality(end[0]))
    format = try Self.format(end[1])
  }

  private static func region(_ text: String) throws(HTTPError) -> Region {
    if text == "full" { return .full }
    if text == "square" { return .square }
    if let list = numbers(text, behind: "pct:", decimal), list.count == 4 {
      guard list[2] > 0, list[3] > 0, list[0] < 100, list[1] < 100 else {
        throw .badRequest("The region “\(text)” is empty, or outside of the image.")
      }
      return .percent(x: list[0], y: list[1], width: list[2], height: list[3])
    }
    if let list = numbers(text, behind: "", whole), list.count == 4 {
      guard list[2] > 0, list[3] > 0 else {
        throw .badRequest("The region “\(text)” is empty.")
      }
      return .pixels(x: list[0], y: list[1], width: list[2], height: list[3])
    }
    throw .badRequest("“\(text)” is no region: full, square, x,y,w,h or pct:x,y,w,h.")
  }

  private static func size(_ text: String) throws(HTTPError) -> (Size, Bool) {
    let mayEnlarge = text.hasPrefix("^")
    let rest = mayEnlarge ? String(text.dropFirst()) : text
    func side(_ text: Substring) -> Int? { whole(text).flatMap { $0 > 0 ? $0 : nil } }
    if rest == "max" { return (.max, mayEnlarge) }
    if let list = numbers(rest, behind: "pct:", decimal), list.count == 1, list[0] > 0 {
      return (.percent(list[0]), mayEnlarge)
    }
    let isWithin = rest.hasPrefix("!")
    let sides = rest.dropFirst(isWithin ? 1 : 0).split(
      separator: ",", omittingEmptySubsequences: false)
    if sides.count == 2 {
      switch (side(sides[0]), side(sides[1])) {
      case (let width?, let height?):
        return (isWithin ? .within(width, height) : .exact(width, height), mayEnlarge)
      case (let width?, nil) where sides[1].isEmpty && !isWithin:
        return (.width(width), mayEnlarge)
      case (nil, let height?) where sides[0].isEmpty && !isWithin:
        return (.height(height), mayEnlarge)
      default: break
      }
    }
    throw .badRequest("“\(text)” is no size: max, w, ,h pct:n w,h or !w,h, also behind “^”.")
  }

  private static func rotation(
    _ text: String
  ) throws(HTTPError) -> (PictureKey.Finish.Rotation, Bool) {
    let isMirrored = text.hasPrefix("!")
    guard let degrees = decimal(text.dropFirst(isMirrored ? 1 : 0)), degrees <= 360 else {
      throw .badRequest("“\(text)” is no rotation: 0 to 360 degrees, also behind “!”.")
    }
    guard let quarter = Int(exactly: degrees),
      let rotation = PictureKey.Finish.Rotation(rawValue: quarter % 360)
    else {
      throw HTTPError(501, "rotation", "Images are turned by 0, 90, 180 or 270 degrees only.")
    }
    return (rotation, isMirrored)
  }

  private static func quality(_ text: Substring) throws(HTTPError) -> PictureKey.Finish.Quality {
    if text == "default" { return .color }
    guard let quality = PictureKey.Finish.Quality(rawValue: String(text)) else {
      throw .badRequest("“\(text)” is no quality: default, color, gray or bitonal.")
    }
    return quality
  }

  private static func format(_ text: Substring) throws(HTTPError) -> PictureKey.Format {
    if let known = formats.first(where: { $0.name == text }) { return known.format }
    if ["tif", "gif", "jp2", "pdf"].contains(text) {
      throw HTTPError(501, "format", "Images come as jpg, png or webp, not as \(text).")
    }
    throw .badRequest("“\(text)” is no format: jpg, png or webp.")
  }

  // MARK: Numbers

  private static func numbers<Number>(
    _ text: String, behind prefix: String, _ number: (Substring) -> Number?
  ) -> [Number]? {
    guard text.hasPrefix(prefix) else { return nil }
    let parts = text.dropFirst(prefix.count).split(
      separator: ",", omittingEmptySubsequences: false)
    let numbers = parts.compactMap(number)
    return numbers.count == parts.count ? numbers : nil
  }

  /// Digits only, at most nine, so that no sum overflows.
  private static func whole(_ text: Substring) -> Int? {
    guard text.utf8.count <= 9, !text.isEmpty, text.utf8.allSatisfy(isDigit) else { return nil }
    return Int(text)
  }

  /// Digits with a point, and neither sign nor exponent.
  private static func decimal(_ text: Substring) -> Double? {
    guard text.utf8.count <= 20, text.utf8.contains(where: isDigit),
      text.utf8.allSatisfy({ isDigit($0) || $0 == UInt8(ascii: ".") })
    else { return nil }
    return Double(text)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
