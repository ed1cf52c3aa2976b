/// A picture format that libvips may decode.
package enum PictureLoader: String, Hashable, Sendable, CaseIterable {
  case jpeg, png, webp, gif, tiff, heif, pnm, jp2k, jxl, hdr, exr, fits, svg, pdf

  /// The libvips class that reads this format.
  var className: String {
    switch self {
    case .jpeg: "VipsForeignLoadJpegSource"
    case .png: "VipsForeignLoadPngSource"
    case .webp: "VipsForeignLoadWebpSource"
    case .gif: "VipsForeignLoadNsgifSource"
    case .tiff: "VipsForeignLoadTiffSource"
    case .heif: "VipsForeignLoadHeifSource"
    case .pnm: "VipsForeignLoadPpmSource"
    case .jp2k: "VipsForeignLoadJp2kSource"
    case .jxl: "VipsForeignLoadJxlSource"
    case .hdr: "VipsForeignLoadRadSource"
    case .exr: "VipsForeignLoadOpenexr"
    case .fits: "VipsForeignLoadFitsFile"
    case .svg: "VipsForeignLoadSvgSource"
    case .pdf: "VipsForeignLoadPdfSource"
    }
  }

  /// The nickname of that class.
  var operation: String {
    switch self {
    case .pnm: "ppmload_source"
    case .hdr: "radload_source"
    case .exr: "openexrload"
    case .fits: "fitsload"
    default: "\(rawValue)load_source"
    }
  }

  /// Whether libvips reads the format only from a path.
  var needsPath: Bool { self == .exr || self == .fits }

  /// Whether the format describes shapes, which can be drawn in any size.
  package var isDrawing: Bool { self == .svg || self == .pdf }

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
    if head.starts(with: [0x76, 0x2F, 0x31, 0x01]) { return .exr }
    if has("SIMPLE  =") { return .fits }
    if has("GIF8") { return .gif }
    if has("%PDF-") { return .pdf }
    if head.starts(with: [0xFF, 0x0A]) || has("JXL ", at: 4) { return .jxl }
    if has("jP  ", at: 4) || head.starts(with: [0xFF, 0x4F, 0xFF, 0x51]) { return .jp2k }
    return has("II*\0") || has("MM\0*") ? .tiff : nil
  }

  /// The name for display.
  package var title: String {
    switch self {
    case .webp: "WebP"
    case .jp2k: "JPEG 2000"
    case .jxl: "JPEG XL"
    case .hdr: "Radiance picture"
    case .exr: "OpenEXR"
    default: rawValue.uppercased()
    }
  }
}
