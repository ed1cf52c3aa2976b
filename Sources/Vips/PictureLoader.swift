/// A kind of picture that may be decoded.
package enum PictureLoader: String, Hashable, Sendable, CaseIterable {
  case jpeg, png, webp, gif, tiff, heif

  /// The kind that a loader class of libvips reads.
  init?(className: String) {
    switch className {
    case "VipsForeignLoadJpegSource": self = .jpeg
    case "VipsForeignLoadPngSource": self = .png
    case "VipsForeignLoadWebpSource": self = .webp
    case "VipsForeignLoadNsgifSource": self = .gif
    case "VipsForeignLoadTiffSource": self = .tiff
    case "VipsForeignLoadHeifSource": self = .heif
    default: return nil
    }
  }

  /// The operation of libvips.
  var operation: String {
    switch self {
    case .jpeg: "jpegload_source"
    case .png: "pngload_source"
    case .webp: "webpload_source"
    case .gif: "gifload_source"
    case .tiff: "tiffload_source"
    case .heif: "heifload_source"
    }
  }

  /// The name for people.
  package var title: String {
    switch self {
    case .jpeg: "JPEG"
    case .png: "PNG"
    case .webp: "WebP"
    case .gif: "GIF"
    case .tiff: "TIFF"
    case .heif: "HEIF"
    }
  }
}
