/// The options of a stage that makes thumbnails, in ImageIO's words.
struct ThumbnailOptions: Hashable, Sendable {
  /// Whether a preview inside the file may serve (`kCGImageSourceCreateThumbnailFromImage…`).
  enum FromImage: String, CaseIterable, Decodable { case always, ifAbsent }

  /// How a file is written.
  enum Format: String, CaseIterable, Decodable { case jpeg, webp, png, avif }

  /// What the colours of a thumbnail mean.
  enum ColorSpace: String, CaseIterable, Decodable { case srgb, p3, keep }

  /// Whether speed or nearness to a full decode comes first.
  enum Scaling: String, CaseIterable, Decodable { case fast, exact }

  /// One thumbnail.
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

  /// Whether EXIF's orientation is applied (`kCGImageSourceCreateThumbnailWithTransform`); `true`.
  var transform = true
  /// Whether a preview inside the file may serve; `always` from the picture itself.
  var fromImage = FromImage.always
  /// The thumbnails; `grid` of 256 and `preview` of 1024 pixels.
  var sizes = [Size(name: "grid", maxPixelSize: 256), Size(name: "preview", maxPixelSize: 1024)]
  /// How files are written; `jpeg`.
  var format = Format.jpeg
  /// How much of a picture survives compression, 1 to 100; 80. PNG has no use for it.
  var quality = 80
  /// Whether metadata are left out; `true`.
  var strip = true
  /// What the colours mean; `srgb`.
  var colorSpace = ColorSpace.srgb
  /// Speed or nearness; `fast`.
  var scaling = Scaling.fast

  static let pixelSizes = 1...16384
  static let qualities = 1...100
  static let maximumSizes = 16
  static let namePattern = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"

  /// Whether a name follows `namePattern`, and so is safe as a file name.
  static func isName(_ name: String) -> Bool {
    let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    let others = Set("_-".utf8)
    guard let first = name.utf8.first, letters.contains(first), name.utf8.count <= 64 else {
      return false
    }
    return name.utf8.allSatisfy { letters.contains($0) || others.contains($0) }
  }
}
