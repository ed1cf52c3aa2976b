import PluginTesting

/// A small picture in one format and the packages that decode it.
struct LoaderSample {
  let format: String
  let mediaType: String
  let bytes: [UInt8]
  /// The Debian packages that decode it.
  let packages: String

  /// The size of every sample, in pixels.
  static let size = (width: 24, height: 16)

  /// One sample per format.
  static let all = [
    LoaderSample(
      format: "jpeg", mediaType: "image/jpeg", bytes: BuiltInSamples.jpeg,
      packages: "libvips42 with libjpeg62-turbo"),
    LoaderSample(
      format: "png", mediaType: "image/png", bytes: BuiltInSamples.png,
      packages: "libvips42 with libpng16-16"),
    LoaderSample(
      format: "webp", mediaType: "image/webp", bytes: BuiltInSamples.webp,
      packages: "libvips42 with libwebp7, libwebpdemux2 and libwebpmux3"),
    LoaderSample(
      format: "gif", mediaType: "image/gif", bytes: BuiltInSamples.gif,
      packages: "libvips42, which decodes it by itself"),
    LoaderSample(
      format: "tiff", mediaType: "image/tiff", bytes: BuiltInSamples.tiff,
      packages: "libvips42 with libtiff6"),
    LoaderSample(
      format: "heic", mediaType: "image/heic", bytes: BuiltInSamples.heic,
      packages: "libheif1 with libde265-0 (since Debian 13 libheif-plugin-libde265)"),
    LoaderSample(
      format: "avif", mediaType: "image/avif", bytes: BuiltInSamples.avif,
      packages: "libheif1 with libdav1d6 or libaom3 (since Debian 13 libheif-plugin-dav1d)"),
  ]

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
