/// A picture format that may be decoded.
package enum PictureLoader: String, Hashable, Sendable, CaseIterable {
  case jpeg, png, webp, gif, tiff, heif

  init?(className: String) {
    guard let loader = Self.allCases.first(where: { $0.className == className }) else { return nil }
    self = loader
  }

  /// The libvips class that reads this format from a source.
  var className: String {
    switch self {
    case .jpeg: "VipsForeignLoadJpegSource"
    case .png: "VipsForeignLoadPngSource"
    case .webp: "VipsForeignLoadWebpSource"
    case .gif: "VipsForeignLoadNsgifSource"
    case .tiff: "VipsForeignLoadTiffSource"
    case .heif: "VipsForeignLoadHeifSource"
    }
  }

  /// The format that bytes start like, for formats that libvips may lack.
  static func signature(_ head: [UInt8]) -> PictureLoader? {
    func has(_ text: String, at offset: Int = 0) -> Bool {
      head.dropFirst(offset).starts(with: Array(text.utf8))
    }
    if has("ftyp", at: 4) {
      let brands = ["heic", "heix", "hevc", "hevx", "mif1", "msf1", "avif", "avis"]
      return brands.contains { has($0, at: 8) } ? .heif : nil
    }
    if has("RIFF") && has("WEBP", at: 8) { return .webp }
    if has("GIF8") { return .gif }
    return has("II*\0") || has("MM\0*") ? .tiff : nil
  }

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

  /// The name for display.
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
