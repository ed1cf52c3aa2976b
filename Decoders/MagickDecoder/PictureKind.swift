/// The kinds of pictures that this library decodes: BMP and TGA itself, the others by
/// MagickCore.
///
/// People have these from scanners, games, Windows and Photoshop. TIFF is only for pages that libvips
/// does not read, see `TIFFStructure`. Left out on purpose: what libvips reads itself; scripts, vectors
/// and documents (MVG, MSL, SVG, PS, PDF), which draw or run; coders that take bytes without a signature
/// as pixels (RGB, YUV, MONO); PICT, which unpacks JPEG through temporary files; XCF, whose layers
/// MagickCore puts together unlike GIMP; and formats of science.
enum PictureKind: String, CaseIterable {
  case bmp = "BMP"
  case icon = "ICO"
  case pcx = "PCX"
  case targa = "TGA"
  case photoshop = "PSD"
  case directDraw = "DDS"
  case siliconGraphics = "SGI"
  case sunRaster = "SUN"
  case xBitmap = "XBM"
  case xPixmap = "XPM"
  case tiff = "TIFF"

  init?(mediaType: String) {
    guard let kind = Self.mediaTypes[mediaType] else { return nil }
    self = kind
  }

  /// MagickCore's name of the coder.
  var coder: String { rawValue }

  /// What the kind is called in messages.
  var name: String {
    switch self {
    case .bmp: "BMP"
    case .icon: "icon"
    case .pcx: "PCX"
    case .targa: "TGA"
    case .photoshop: "PSD"
    case .directDraw: "DDS"
    case .siliconGraphics: "SGI"
    case .sunRaster: "Sun raster"
    case .xBitmap: "XBM"
    case .xPixmap: "XPM"
    case .tiff: "TIFF"
    }
  }

  private static let mediaTypes: [String: PictureKind] = [
    "image/bmp": .bmp, "image/x-ms-bmp": .bmp,
    "image/vnd.microsoft.icon": .icon, "image/x-icon": .icon, "image/x-win-bitmap": .icon,
    "image/x-pcx": .pcx, "image/vnd.zbrush.pcx": .pcx,
    "image/x-tga": .targa,
    "image/vnd.adobe.photoshop": .photoshop,
    "image/vnd-ms.dds": .directDraw, "image/x-dds": .directDraw,
    "image/x-sgi": .siliconGraphics,
    "image/x-sun-raster": .sunRaster,
    "image/x-xbitmap": .xBitmap,
    "image/x-xpixmap": .xPixmap,
    "image/tiff": .tiff,
  ]

  /// The policy that leaves MagickCore these coders, PNG for icons, and nothing that starts a
  /// program or opens a name.
  static var policy: String {
    let coders = allCases.filter { $0 != .bmp && $0 != .targa }.map(\.coder) + ["PNG"]
    return """
      <policymap>
        <policy domain="delegate" rights="none" pattern="*"/>
        <policy domain="filter" rights="none" pattern="*"/>
        <policy domain="path" rights="none" pattern="@*"/>
        <policy domain="coder" rights="none" pattern="*"/>
        <policy domain="coder" rights="read" pattern="{\(coders.joined(separator: ","))}"/>
      </policymap>
      """
  }
}
