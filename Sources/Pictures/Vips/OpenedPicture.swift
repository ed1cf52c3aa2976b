package import Containers

/// A picture whose header was read, with the properties that all its uses must agree on.
package struct OpenedPicture {
  package let file: PictureFile
  /// What the pixels are read from; `nil` if another library decoded them.
  package let source: PictureSource?
  package let loader: PictureLoader?
  /// The header; its pixels are decoded on demand. Of a drawing, in the size that was asked for.
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
  /// What a JPEG 2000 file says about its values; `nil` of any other.
  package let jpeg2000: JPEG2000Structure?
  /// The profile of a JPEG 2000, which libvips 8.14 does not find; `nil` if it makes no sense.
  package let boxedProfile: [UInt8]?
  /// How many pixels decoding makes: those of `header`, but for an OpenEXR file those that are in it.
  package let decodedPixels: Int
  /// Where the pixels of an OpenEXR picture lie in it; `nil` if they are all of it, as of other kinds.
  private let window: OpenEXRWindow?
  /// What the values of a PGM or PPM are multiplied with, if its white is none of libvips'.
  private let pixmapScale: Double?

  package var displayWidth: Int { orientation > 4 ? header.height : header.width }
  package var displayHeight: Int { orientation > 4 ? header.width : header.height }

  /// The most pixels of a picture that is decoded: 500 million.
  ///
  /// That is three times the size of the largest cameras' pictures; bombs of a few kilobytes are
  /// refused by their header. Frames don't add up, because only the first is decoded.
  package static let pixelLimit = 500_000_000

  /// The most columns of an OpenEXR picture, of which libvips holds several rows in memory.
  private static let longestRow = 1 << 18

  /// Reads the header of an open file.
  ///
  /// - Parameters:
  ///   - embedded: the file's metadata, if already read.
  ///   - longest: the longer side that a drawing gets, in pixels; by default its own, at 72 pixels an inch.
  package init(
    _ file: PictureFile, strictness: Picture.Strictness, embedded: EmbeddedMetadata? = nil,
    longest: Int? = nil
  ) throws(VipsError) {
    self.file = file
    let stored = try PictureSource(file)
    let loader = try stored.loader()
    jpeg2000 = loader == .jp2k ? try file.withBytes { JPEG2000Structure($0) } : nil
    let rewritten = try Self.rewritten(file, stored, loader, jpeg2000)
    let source =
      try rewritten.map { bytes throws(VipsError) in try PictureSource(bytes: bytes) } ?? stored
    (self.source, self.loader) = (source, loader)
    pixmapScale = loader == .pnm ? try Self.pixmapScale(file) : nil
    isConverted = loader == .tiff ? try file.withTags(Self.needsConversion) ?? false : false
    let header =
      isConverted
      ? try Picture.loadConvertedTIFF(source)
      : try Self.header(source, loader, strictness, longest: longest)
    let openEXR = loader == .exr ? try file.withBytes { OpenEXRHeader($0) } : nil
    if loader == .exr, openEXR?.columns ?? header.width > Self.longestRow {
      throw VipsError(
        .tooLarge, "The OpenEXR has more than \(Self.longestRow) columns and is not decoded")
    }
    decodedPixels = header.width * header.height
    let isLarge = Self.isTooLarge(header)
    window = isLarge ? nil : openEXR.flatMap { OpenEXRWindow($0) }
    self.header = try Self.framed(Self.scaled(header, by: pixmapScale), window)
    let channels = jpeg2000?.palette?.colors.first?.count ?? header.bands
    boxedProfile = jpeg2000?.profile.flatMap { bytes in
      ColorProfile(bytes)?.fits(channels: channels) == true ? bytes : nil
    }
    profile = (header.blob(Picture.Field.profile) ?? boxedProfile).flatMap(ColorProfile.init)
    let embedded =
      if let embedded { embedded } else { try file.withBytes { EmbeddedMetadata($0) } }
    self.embedded = embedded
    exif =
      embedded.exif.map { ExifBlock($0) }
      ?? header.blob(Picture.Field.exif).flatMap { ExifBlock($0) }
    orientation =
      switch loader {
      case .heif: embedded.turnsPicture ? 1 : Self.valid(exif?.orientation)
      // Its codestream says how it is turned, and the decoder does so. Source: ISO/IEC 18181-2.
      case .jxl, .svg, .pdf: 1
      // libvips leaves its rows as they are: the first one is at the bottom. Source: pfm(5).
      case .pnm: Self.isFloatMap(header) ? 4 : 1
      case .hdr: try RadianceOrder.orientation(file)
      default: Self.valid(header.integer("orientation") ?? exif?.orientation)
      }
    bitDepth = embedded.bitDepth ?? header.integer("palette-bit-depth") ?? header.bitsPerValue
  }

  /// Takes pixels that another library decoded.
  ///
  /// - Parameters:
  ///   - orientation: the EXIF orientation still to be applied.
  ///   - profile: the ICC profile; empty for sRGB.
  package init(
    pixels: Picture, orientation: Int, profile: [UInt8]
  ) throws(VipsError) {
    file = PictureFile(bytes: [])
    source = nil
    loader = nil
    let parsed = ColorProfile(profile)
    let profile = parsed?.isFlat == true ? [] : profile
    header =
      profile.isEmpty
      ? pixels : try pixels.editingMetadata { $0.set(Picture.Field.profile, profile) }
    self.orientation = Self.valid(orientation)
    self.profile = profile.isEmpty ? nil : ColorProfile(profile)
    embedded = try file.withBytes { EmbeddedMetadata($0) }
    exif = nil
    bitDepth = pixels.bitsPerValue
    isConverted = false
    jpeg2000 = nil
    boxedProfile = nil
    window = nil
    decodedPixels = header.width * header.height
    pixmapScale = nil
  }

  /// Takes a picture file that another file contains.
  ///
  /// - Parameters:
  ///   - orientation: the EXIF orientation to apply instead of its own.
  ///   - profile: the ICC profile that counts if it has none of its own; empty for sRGB.
  package init(contained bytes: [UInt8], orientation: Int?, profile: [UInt8]) throws(VipsError) {
    let own = try OpenedPicture(PictureFile(bytes: bytes), strictness: .truncated)
    let lacksProfile = own.profile == nil && !profile.isEmpty
    file = own.file
    source = own.source
    loader = own.loader
    header =
      lacksProfile
      ? try own.header.editingMetadata { $0.set(Picture.Field.profile, profile) } : own.header
    self.orientation = orientation.map { Self.valid($0) } ?? own.orientation
    self.profile = lacksProfile ? ColorProfile(profile) : own.profile
    embedded = own.embedded
    exif = own.exif
    bitDepth = own.bitDepth
    isConverted = own.isConverted
    jpeg2000 = own.jpeg2000
    boxedProfile = own.boxedProfile
    window = own.window
    decodedPixels = own.decodedPixels
    pixmapScale = own.pixmapScale
  }

  private static func header(
    _ source: PictureSource, _ loader: PictureLoader, _ strictness: Picture.Strictness,
    longest: Int?
  ) throws(VipsError) -> Picture {
    let natural = try Picture.load(source, as: loader, strictness: strictness)
    if loader == .pdf, natural.width == 1, natural.height == 1 {
      try refuseBoundless(source, strictness)
    }
    guard loader.isDrawing, let longest else { return natural }
    let longer = max(natural.width, natural.height)
    return try Picture.load(
      source, as: loader, shrink: Double(longer) / Double(longest), strictness: strictness)
  }

  /// Refuses a page that is too large to be drawn.
  ///
  /// libvips 8.14.1 makes a page of more than 10 million pixels one of a single pixel, so drawn small
  /// such a page is larger.
  private static func refuseBoundless(
    _ source: PictureSource, _ strictness: Picture.Strictness
  ) throws(VipsError) {
    let small = try Picture.load(source, as: .pdf, shrink: 1000, strictness: strictness)
    guard small.width > 1 || small.height > 1 else { return }
    throw VipsError(.tooLarge, "The first page of the PDF is too large to be drawn")
  }

  /// The number of pages, or of frames.
  package var pages: Int {
    switch loader {
    // libvips counts its resolutions.
    case .jp2k: 1
    case .png: max(header.pages, embedded.frames ?? 1)
    default: header.pages
    }
  }

  /// Whether it has frames that libvips decodes.
  package var isAnimated: Bool { (loader == .gif || loader == .webp) && header.pages > 1 }

  /// Whether the first page is one that libvips does not read, and libtiff does: YCbCr without JPEG
  /// compression, tiles of RGB in separate planes, or integers of 24 bits.
  ///
  /// Source: TIFF 6.0, sections 15 and 21.
  private static func needsConversion(_ tags: TagReader) -> Bool {
    guard let page = tags.directory(at: tags.first) else { return false }
    let bits = tags.integers(0x0102, in: page)
    let isPlain = (tags.integer(0x0153, in: page) ?? 1) == 1
    // Of 24 bits those that the loader knows: grey and RGB, with or without alpha, in strips.
    if bits.first == 24, isPlain, page.entries[0x0142] == nil { return true }
    switch tags.integer(0x0106, in: page) {
    case 6: return tags.integer(0x0103, in: page) != 7
    case 2:
      let isTiled = tags.integer(0x0142, in: page) != nil
      let hasPlanes = tags.integer(0x011C, in: page) == 2
      // libtiff multiplies colours with an alpha, and reads no floating-point values.
      let isOpaque = tags.integer(0x0115, in: page) == 3
      let isDeep = bits.contains { ![8, 16].contains($0) }
      return isTiled && hasPlanes && isOpaque && !isDeep
    default: return false
    }
  }

  /// Whether it is a PFM, whose values are linear light.
  package var isFloatMap: Bool { loader == .pnm && Self.isFloatMap(header) }

  private static func isFloatMap(_ header: Picture) -> Bool { header.text("pfm-scale") != nil }

  private static func valid(_ orientation: Int?) -> Int {
    guard let orientation, (1...8).contains(orientation) else { return 1 }
    return orientation
  }

  /// Reopens the picture, because pixels can be read only once.
  package func reopened() throws(VipsError) -> Picture {
    // Decoded pixels, and those of a drawing, can be read as often as needed.
    guard let source, let loader, !loader.isDrawing else { return header }
    if isConverted { return try .loadConvertedTIFF(source) }
    return try Self.framed(Self.scaled(.load(source, as: loader), by: pixmapScale), window)
  }

  package var isTooLarge: Bool { Self.isTooLarge(header) }

  private static func isTooLarge(_ header: Picture) -> Bool {
    let (pixels, overflow) = header.width.multipliedReportingOverflow(by: header.height)
    return overflow || pixels > pixelLimit
  }
}
