public import CPictureDecoder
import Containers
import PictureDecoding
import PipelineModel

/// Decodes kinds of pictures that libvips does not read: BMP and TGA itself, others by MagickCore.
enum MagickDecoder: PictureDecoder {
  static func decode(
    _ request: DecoderRequest, isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedPicture {
    let opened = try OpenedFile(request, headerOnly: false, isCancelled)
    if let bitmap = opened.bitmap {
      return try bitmap.decode(opened.bytes, isCancelled: isCancelled)
    }
    if let targa = opened.targa {
      return try targa.decode(opened.bytes, isCancelled: isCancelled)
    }
    if let resources = opened.resources, !resources.hasMergedPicture {
      var preview = try resources.preview()
      preview.damage = opened.damage
      return preview
    }
    let picture = try opened.read(headerOnly: false, isCancelled)
    let (width, height) = (picture.width, picture.height)
    let complaint = picture.complaint
    let profile = try picture.convert()
    let isGrey = opened.palette != nil || picture.colorKind == .grey && !picture.hasAlpha
    var bands = picture.hasAlpha && opened.palette == nil ? 4 : isGrey ? 1 : 3
    var pixels = try picture.pixels(bands: bands)
    if let palette = opened.palette { (pixels, bands) = (palette.colors(pixels), 3) }
    if opened.isInverted { MonochromePCX.invert(&pixels) }
    if bands == 4, opened.kind == .icon, Self.isAlphaEmpty(pixels) {
      pixels = try picture.pixels(bands: 3)
      bands = 3
    }
    var decoded = DecodedPicture(.pixels(pixels, width: width, height: height, bands: bands))
    decoded.orientation = opened.orientation ?? picture.orientation
    // A profile for grey says nothing of colours.
    decoded.profile = bands == 1 || !Self.isGreyProfile(profile) ? profile : []
    decoded.damage = opened.damage ?? complaint
    return decoded
  }

  static func facts(
    _ request: DecoderRequest, isCancelled: () -> Bool
  ) throws(DecoderError) -> [String: JSONValue] {
    let opened = try OpenedFile(request, headerOnly: true, isCancelled)
    if let bitmap = opened.bitmap {
      return facts(
        fileSize: opened.size, width: bitmap.width, height: bitmap.height,
        bands: bitmap.hasAlpha ? 4 : 3, isByMagickCore: bitmap.compression == .huffman,
        bitDepth: bitmap.bits == 16 ? 5 : min(8, max(1, bitmap.bits)))
    }
    if let targa = opened.targa {
      return facts(
        fileSize: opened.size, width: targa.width, height: targa.height, bands: targa.bands,
        bitDepth: targa.content == .color && targa.bits <= 16 ? 5 : min(8, targa.bits))
    }
    let picture = try opened.read(headerOnly: true, isCancelled)
    let orientation = opened.orientation ?? picture.orientation
    let swaps = orientation > 4
    let (width, height) = (picture.width, picture.height)
    var facts: [String: JSONValue] = [
      "width": .integer(swaps ? height : width), "height": .integer(swaps ? width : height),
      "orientation": .integer(orientation),
      "pages": .integer(opened.pages),
      "alpha": .bool(picture.hasAlpha),
      "bitDepth": .integer(picture.bitDepth),
    ]
    facts["colorSpace"] = .string((opened.palette == nil ? picture.colorKind : .rgb).rawValue)
    // Eight bytes a pixel, the result and its copy, and the file.
    let bytes = (24 << 20) + width * height * 16 + opened.size
    facts["decodeBytes"] = ["streamed": .integer(bytes), "whole": .integer(bytes)]
    facts["problem"] = problem(width, height)
    return facts
  }

  private static func problem(_ width: Int, _ height: Int) -> JSONValue? {
    MagickLibrary.problem(width: width, height: height).map { .string($0) }
  }

  private static func facts(
    fileSize: Int, width: Int, height: Int, bands: Int, isByMagickCore: Bool = false, bitDepth: Int
  ) -> [String: JSONValue] {
    // The result and its copy, and the file. What libtiff and MagickCore take with it was measured.
    let bytes =
      isByMagickCore
      ? (24 << 20) + width * height * 16 + fileSize * 2
      : (8 << 20) + width * height * bands * 2 + fileSize
    var facts: [String: JSONValue] = [
      "width": .integer(width), "height": .integer(height), "orientation": 1, "pages": 1,
      "alpha": .bool(bands == 4), "bitDepth": .integer(bitDepth),
      "colorSpace": .string(bands == 1 ? "grey" : "srgb"),
      "decodeBytes": ["streamed": .integer(bytes), "whole": .integer(bytes)],
    ]
    if isByMagickCore { facts["problem"] = problem(width, height) }
    return facts
  }

  private static func isAlphaEmpty(_ pixels: [UInt8]) -> Bool {
    stride(from: 3, to: pixels.count, by: 4).allSatisfy { pixels[$0] == 0 }
  }

  /// Source: ICC.1:2010, section 7.2.6.
  private static func isGreyProfile(_ profile: [UInt8]) -> Bool {
    profile.dropFirst(16).starts(with: "GRAY".utf8)
  }
}

/// A file of a kind, and what its structure tells before MagickCore reads it.
private struct OpenedFile {
  let kind: PictureKind
  let icon: IconEntry?
  let bitmap: BitmapFile?
  let targa: TargaFile?
  /// The palette of a PSD with indexed colours.
  let palette: PhotoshopPalette?
  /// The image resources of a PSD.
  let resources: PhotoshopResources?
  /// The orientation by the tags of a TIFF; MagickCore's picture has only that of an EXIF block.
  let orientation: Int?
  /// Whether MagickCore swaps black and white.
  let isInverted: Bool
  let damage: String?
  private let file: FileBytes

  /// The most bytes of headers of BMP and TGA, whose palettes are the longest part.
  private static let headerLength = 1 << 16
  /// The most pages that are counted.
  private static let pageLimit = 10_000

  /// - Parameter headerOnly: whether no pixels are decoded, so that the kinds that are read here need
  ///   their headers only.
  init(
    _ request: DecoderRequest, headerOnly: Bool, _ isCancelled: () -> Bool
  ) throws(DecoderError) {
    guard let kind = PictureKind(mediaType: request.mediaType) else {
      throw DecoderError(.undecodable, "Files of type \(request.mediaType) are not decoded")
    }
    self.kind = kind
    let isShort = headerOnly && (kind == .bmp || kind == .targa)
    file = try FileBytes(path: request.path, most: isShort ? Self.headerLength : .max)
    bitmap = kind == .bmp ? try BitmapFile(file.bytes) : nil
    targa = kind == .targa ? try TargaFile(file.bytes) : nil
    icon = kind == .icon ? try IconEntry(file.bytes) : nil
    palette = kind == .photoshop ? PhotoshopPalette(file.bytes) : nil
    if palette != nil { PhotoshopPalette.hide(in: file) }
    resources = kind == .photoshop ? PhotoshopResources(file.bytes) : nil
    orientation = kind == .tiff ? Self.orientation(file.tags) : nil
    isInverted = kind == .pcx && MonochromePCX.matches(file.bytes)
    if kind == .xBitmap { XBitmapDeclaration.simplify(in: file) }
    if kind == .directDraw { try DirectDrawFormat.refuseUnknown(file.bytes) }
    let isCut =
      kind == .photoshop
      ? try PhotoshopExtent.isCutShort(file.bytes, isCancelled: isCancelled) : false
    damage = isCut ? "the file ends too early" : icon?.damage
  }

  /// The number of pictures in an icon, or of pages in a TIFF.
  var pages: Int {
    guard kind == .tiff, let tags = file.tags else { return icon?.count ?? 1 }
    var places: Set<Int> = []
    var next = tags.first
    while places.count < Self.pageLimit, let page = tags.directory(at: next),
      places.insert(next).inserted
    {
      next = page.next
    }
    return places.count
  }

  private static func orientation(_ tags: TagReader?) -> Int {
    guard let tags, let page = tags.directory(at: tags.first),
      let orientation = tags.integer(0x0112, in: page), (1...8).contains(orientation)
    else { return 1 }
    return orientation
  }

  var bytes: UnsafeRawBufferPointer { file.bytes }
  /// The file's size in bytes.
  var size: Int { file.size }

  func read(headerOnly: Bool, _ isCancelled: () -> Bool) throws(DecoderError) -> MagickPicture {
    guard let icon else {
      return try MagickPicture.read(
        file.bytes, as: kind, headerOnly: headerOnly, isCancelled: isCancelled)
    }
    let result = icon.file.withUnsafeBytes { bytes -> Result<MagickPicture, DecoderError> in
      do throws(DecoderError) {
        return .success(
          try MagickPicture.read(
            bytes, as: kind, headerOnly: headerOnly, isCancelled: isCancelled))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

/// The function that this library exports.
@c(picture_decoder_v1)
public func pictureDecoder() -> UnsafePointer<picture_decoder>? {
  exportDecoder(MagickDecoder.self)
}
