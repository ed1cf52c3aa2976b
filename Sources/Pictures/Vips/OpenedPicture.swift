package import Containers

/// A picture whose header was read, with the properties that all its uses must agree on.
package struct OpenedPicture {
  package let file: PictureFile
  package let source: PictureSource
  package let loader: PictureLoader
  /// The header; its pixels are decoded on demand.
  package let header: Picture
  /// The EXIF orientation still to be applied to display the picture upright: 1 to 8.
  ///
  /// 1 if the loader has already applied it, as for HEIF containers with a rotation of their own.
  package let orientation: Int
  /// The EXIF block, if it can be read.
  package let exif: ExifBlock?
  /// The embedded profile, if it can be read.
  package let profile: ColorProfile?
  package let embedded: EmbeddedMetadata
  /// Bits per channel as stored.
  package let bitDepth: Int
  /// Whether libtiff converts the pixels to RGB, a whole strip at a time.
  package let isConverted: Bool

  package var displayWidth: Int { orientation > 4 ? header.height : header.width }
  package var displayHeight: Int { orientation > 4 ? header.width : header.height }

  /// The most pixels of a picture that is decoded: 500 million.
  ///
  /// That is three times the size of the largest cameras' pictures; bombs of a few kilobytes are
  /// refused by their header. Frames don't add up, because only the first is decoded.
  package static let pixelLimit = 500_000_000

  /// Reads the header of an open file.
  ///
  /// - Parameter embedded: the file's metadata, if already read.
  package init(
    _ file: PictureFile, strictness: Picture.Strictness, embedded: EmbeddedMetadata? = nil
  ) throws(VipsError) {
    self.file = file
    source = try PictureSource(file)
    loader = try source.loader()
    isConverted = loader == .tiff ? try file.withTags(Self.needsConversion) ?? false : false
    header =
      isConverted
      ? try Picture.loadConvertedTIFF(source)
      : try Picture.load(source, as: loader, strictness: strictness)
    profile = header.blob(Picture.Field.profile).flatMap(ColorProfile.init)
    let embedded =
      if let embedded { embedded } else { try file.withBytes { EmbeddedMetadata($0) } }
    self.embedded = embedded
    exif =
      embedded.exif.map { ExifBlock($0) }
      ?? header.blob(Picture.Field.exif).flatMap { ExifBlock($0) }
    orientation =
      switch loader {
      case .heif: embedded.turnsPicture ? 1 : Self.valid(exif?.orientation)
      default: Self.valid(header.integer("orientation") ?? exif?.orientation)
      }
    bitDepth = embedded.bitDepth ?? header.integer("palette-bit-depth") ?? header.bitsPerValue
  }

  /// Whether the first page is YCbCr without JPEG compression, which libvips does not read.
  ///
  /// Source: TIFF 6.0, section 21.
  private static func needsConversion(_ tags: TagReader) -> Bool {
    guard let page = tags.directory(at: tags.first) else { return false }
    return tags.integer(0x0106, in: page) == 6 && tags.integer(0x0103, in: page) != 7
  }

  private static func valid(_ orientation: Int?) -> Int {
    guard let orientation, (1...8).contains(orientation) else { return 1 }
    return orientation
  }

  /// Reopens the picture, because pixels can be read only once.
  package func reopened() throws(VipsError) -> Picture {
    isConverted ? try .loadConvertedTIFF(source) : try .load(source, as: loader)
  }

  package var isTooLarge: Bool {
    let (pixels, overflow) = header.width.multipliedReportingOverflow(by: header.height)
    return overflow || pixels > Self.pixelLimit
  }
}
