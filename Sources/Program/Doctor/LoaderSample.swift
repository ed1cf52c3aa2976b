import PluginTesting

/// A small file of one kind, and what decodes it.
struct LoaderSample {
  /// The usual suffix of such files.
  let format: String
  /// The media types that it may be identified as; other versions of libmagic have other names.
  let types: [String]
  let bytes: [UInt8]
  let decoder: Decoder
  let size: Size

  /// What decodes a sample.
  enum Decoder {
    /// libvips, with these Debian packages.
    case libvips(String)
    /// A library that is built with the program if another one is there.
    case builtIn(BuiltInDecoder)
  }

  /// The size of a thumbnail, in pixels.
  enum Size {
    case exactly(width: Int, height: Int)
    /// Three units wide and two high, as large as asked for.
    case drawn

    /// Whether a thumbnail with room for `longest` pixels on a side may have a size.
    func matches(width: Int, height: Int, longest: Int) -> Bool {
      switch self {
      case .exactly(let expectedWidth, let expectedHeight):
        width == expectedWidth && height == expectedHeight
      case .drawn: width == longest && abs(height * 3 - width * 2) <= 3
      }
    }
  }

  init(
    _ format: String, _ types: String..., bytes: [UInt8], by decoder: Decoder,
    size: Size = .exactly(width: 24, height: 16)
  ) {
    self.format = format
    self.types = types
    self.bytes = bytes
    self.decoder = decoder
    self.size = size
  }
}

/// A decoder that is left out of the program if the library it is made of is not there.
struct BuiltInDecoder {
  /// Its name in the manifests of plugins.
  let name: String
  /// What it decodes, in the plural.
  let kinds: String
  /// The Debian packages that it needs at run time.
  let packages: String
  /// The Debian packages that it is built with.
  let buildPackages: String

  static let raw = BuiltInDecoder(
    name: "raw", kinds: "raw files", packages: "libraw20", buildPackages: "libraw-dev")
  static let magick = BuiltInDecoder(
    name: "magick", kinds: "BMP, ICO, PCX, TGA and PSD", packages: "libmagickcore-6.q16-6",
    buildPackages: "libmagickcore-dev")
  static let openJPEG = BuiltInDecoder(
    name: "openjpeg", kinds: "unusual JPEG 2000", packages: "libopenjp2-7",
    buildPackages: "libopenjp2-7-dev")
  static let video = BuiltInDecoder(
    name: "video", kinds: "films and sound",
    packages: "libavformat59, libavcodec59 and libswscale6",
    buildPackages: "libavformat-dev, libavcodec-dev and libswscale-dev")
}

extension LoaderSample.Decoder {
  /// What to install so that it works.
  var packages: String {
    switch self {
    case .libvips(let packages): packages
    case .builtIn(let decoder): decoder.packages
    }
  }

  /// What to do if it decodes wrongly.
  var otherVersion: String {
    switch self {
    case .libvips: Self.otherVips
    case .builtIn(let decoder):
      "Use other versions of \(decoder.packages); those of Debian 12 pass."
    }
  }

  static let otherVips = "Use another version of libvips; Debian 12 has 8.14.1, which passes."
}

extension LoaderSample {
  /// One sample per format.
  static let all = photographs + measurements + drawings + old + raw + films

  private static let photographs = [
    LoaderSample(
      "jpeg", "image/jpeg", bytes: BuiltInSamples.jpeg,
      by: .libvips("libvips42 with libjpeg62-turbo")),
    LoaderSample(
      "png", "image/png", bytes: BuiltInSamples.png, by: .libvips("libvips42 with libpng16-16")),
    LoaderSample(
      "webp", "image/webp", bytes: BuiltInSamples.webp,
      by: .libvips("libvips42 with libwebp7, libwebpdemux2 and libwebpmux3")),
    LoaderSample(
      "gif", "image/gif", bytes: BuiltInSamples.gif,
      by: .libvips("libvips42, which decodes it by itself")),
    LoaderSample(
      "tiff", "image/tiff", bytes: BuiltInSamples.tiff, by: .libvips("libvips42 with libtiff6")),
    LoaderSample(
      "heic", "image/heic", bytes: BuiltInSamples.heic,
      by: .libvips("libheif1 with libde265-0 (since Debian 13 libheif-plugin-libde265)")),
    LoaderSample(
      "avif", "image/avif", bytes: BuiltInSamples.avif,
      by: .libvips(
        "libheif1 with libdav1d6 or libaom3 (since Debian 13 libheif-plugin-dav1d)")),
    LoaderSample(
      "jp2", "image/jp2", bytes: BuiltInSamples.jpeg2000,
      by: .libvips("libvips42 with libopenjp2-7")),
    LoaderSample("jp2 ycc", "image/jp2", bytes: luminanceJP2, by: .builtIn(.openJPEG)),
    LoaderSample(
      "jxl", "image/jxl", bytes: BuiltInSamples.jpegXL,
      by: .libvips("libvips42 with libjxl0.7")),
    LoaderSample(
      "ppm", "image/x-portable-pixmap", bytes: BuiltInSamples.ppm,
      by: .libvips("libvips42, which decodes it by itself")),
  ]

  private static let measurements = [
    LoaderSample(
      "hdr", "image/vnd.radiance", bytes: BuiltInSamples.radiance,
      by: .libvips("libvips42, which decodes it by itself")),
    LoaderSample(
      "exr", "image/x-exr", bytes: BuiltInSamples.openEXR,
      by: .libvips("libvips42 with libopenexr-3-1-30")),
    LoaderSample(
      "fits", "image/fits", bytes: BuiltInSamples.fits,
      by: .libvips("libvips42 with libcfitsio10")),
  ]

  private static let drawings = [
    LoaderSample(
      "svg", "image/svg+xml", bytes: BuiltInSamples.svg,
      by: .libvips("libvips42 with librsvg2-2"), size: .drawn),
    LoaderSample(
      "pdf", "application/pdf", bytes: BuiltInSamples.pdf,
      by: .libvips("libvips42 with libpoppler-glib8"), size: .drawn),
  ]

  private static let old = [
    LoaderSample("bmp", "image/bmp", bytes: BuiltInSamples.bmp, by: .builtIn(.magick)),
    LoaderSample(
      "ico", "image/vnd.microsoft.icon", "image/x-icon", bytes: BuiltInSamples.ico,
      by: .builtIn(.magick)),
    LoaderSample(
      "pcx", "image/vnd.zbrush.pcx", "image/x-pcx", bytes: BuiltInSamples.pcx,
      by: .builtIn(.magick)),
    LoaderSample("tga", "image/x-tga", bytes: BuiltInSamples.tga, by: .builtIn(.magick)),
    LoaderSample(
      "psd", "image/vnd.adobe.photoshop", bytes: BuiltInSamples.psd, by: .builtIn(.magick)),
  ]

  private static let raw = [
    // LibRaw refuses sensors that are less than 22 pixels high.
    LoaderSample(
      "dng", "image/x-adobe-dng", bytes: BuiltInSamples.dng, by: .builtIn(.raw),
      size: .exactly(width: 48, height: 32))
  ]

  private static let films = [
    LoaderSample("mp4", "video/mp4", bytes: BuiltInSamples.mp4, by: .builtIn(.video)),
    LoaderSample("webm", "video/webm", bytes: BuiltInSamples.webm, by: .builtIn(.video)),
  ]

  /// A JPEG 2000 whose colours are called luminance and chroma.
  private static var luminanceJP2: [UInt8] {
    var bytes = BuiltInSamples.jpeg2000
    // By a number: 16 for RGB, 18 for these. Source: ISO/IEC 15444-1, annex I.5.3.3.
    let mark = Array("colr".utf8) + [1, 0, 0, 0, 0, 0, 16]
    if let start = bytes.indices.first(where: { bytes[$0...].starts(with: mark) }) {
      bytes[start + mark.count - 1] = 18
    }
    return bytes
  }

  /// A JPEG with a complete header that ends in the middle of its pixels.
  static var cutJPEG: [UInt8] {
    let whole = BuiltInSamples.uprightJPEG
    // The pixels follow the marker “start of scan”. Source: ITU-T T.81, B.1.1.3.
    let marker = whole.indices.last { whole[$0...].starts(with: [0xFF, 0xDA]) } ?? whole.count / 2
    return Array(whole.prefix((marker + whole.count) / 2))
  }

  /// A PNG with a complete header that ends in the middle of its pixels.
  static var cutPNG: [UInt8] {
    let whole = BuiltInSamples.png
    let chunk = Array("IDAT".utf8)
    let start = whole.indices.first { whole[$0...].starts(with: chunk) } ?? whole.count / 2
    return Array(whole.prefix((start + whole.count) / 2))
  }
}
