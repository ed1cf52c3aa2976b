/// The options of a thumbnail stage, in ImageIO's terms.
struct ThumbnailOptions: Hashable, Sendable {
  /// Whether an embedded preview may be used (`kCGImageSourceCreateThumbnailFromImage…`).
  enum FromImage: String, CaseIterable, Decodable { case always, ifAbsent }

  enum Format: String, CaseIterable, Decodable { case jpeg, webp, png, avif }

  /// The colour space of a thumbnail.
  enum ColorSpace: String, CaseIterable, Decodable { case srgb, p3, keep }

  /// Whether to prefer speed or similarity to a full decode.
  enum Scaling: String, CaseIterable, Decodable { case fast, exact }

  struct Size: Hashable, Sendable {
    /// The name of the rendition and of its file.
    var name: String
    /// The longer side in pixels (`kCGImageSourceThumbnailMaxPixelSize`).
    var maxPixelSize: Int
    /// The format of this size, if it is not the stage's.
    var format: Format?
    /// The quality of this size, if it is not the stage's.
    var quality: Int?
  }

  /// Whether to apply EXIF's orientation (`kCGImageSourceCreateThumbnailWithTransform`); default
  /// `true`.
  var transform = true
  /// Whether an embedded preview may be used; default `always` from the picture itself.
  var fromImage = FromImage.always
  /// The thumbnails; default `grid` of 256 and `preview` of 1024 pixels.
  var sizes = [Size(name: "grid", maxPixelSize: 256), Size(name: "preview", maxPixelSize: 1024)]
  /// The file format; default `jpeg`.
  var format = Format.jpeg
  /// The compression quality, 1 to 100; default 80. PNG does not use it.
  var quality = 80
  /// Whether to leave out metadata; default `true`.
  var strip = true
  /// The colour space; default `srgb`.
  var colorSpace = ColorSpace.srgb
  /// Speed or similarity; default `fast`.
  var scaling = Scaling.fast

  static let pixelSizes = 1...16384
  static let qualities = 1...100
  static let maximumSizes = 16
  static let namePattern = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"

  /// Whether a name matches `namePattern`, and so is safe as a file name.
  static func isName(_ name: String) -> Bool {
    let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    let others = Set("_-".utf8)
    guard let first = name.utf8.first, letters.contains(first), name.utf8.count <= 64 else {
      return false
    }
    return name.utf8.allSatisfy { letters.contains($0) || others.contains($0) }
  }
}
