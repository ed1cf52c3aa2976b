import Containers
import PipelineModel
import Vips

/// Facts about pictures whose headers libvips reads.
enum PictureFacts {
  /// Reads the header; if it can't be read, `problem` says why.
  ///
  /// - Parameters:
  ///   - embedded: the file's metadata.
  ///   - exif: set to the EXIF block that libvips finds, if it is `nil`.
  /// - Throws: `VipsError` only if the kernel or the machine is at fault.
  static func read(
    _ file: PictureFile, _ embedded: EmbeddedMetadata, _ exif: inout ExifBlock?
  ) throws(VipsError) -> [String: JSONValue] {
    let opened: OpenedPicture
    do throws(VipsError) {
      opened = try OpenedPicture(file, strictness: .lenient, embedded: embedded)
    } catch {
      // A missing decoder is not the picture's fault; its type is known.
      guard ![.inputOutput, .outOfMemory].contains(error.code) else { throw error }
      return ["problem": .string(error.message + ".")]
    }
    exif = exif ?? opened.exif
    let header = opened.header
    var facts: [String: JSONValue] = [
      "width": .integer(opened.displayWidth),
      "height": .integer(opened.displayHeight),
      "orientation": .integer(opened.orientation),
      "pages": .integer(opened.pages),
      "alpha": .bool(header.hasAlpha),
      "bitDepth": .integer(opened.bitDepth),
      "colorSpace": .string(colorSpace(opened)),
    ]
    if let name = opened.profile?.name { facts["iccProfile"] = .string(name) }
    let memory = DecodeMemory(opened)
    facts["decodeBytes"] = [
      "streamed": .integer(memory.streamed), "whole": .integer(memory.whole),
    ]
    // A drawing is decoded in the size that is asked for.
    if opened.isTooLarge, opened.loader?.isDrawing != true {
      facts["problem"] = .string(
        "The picture has more than \(OpenedPicture.pixelLimit / 1_000_000) megapixels "
          + "and is not decoded.")
    }
    return facts
  }

  private static func colorSpace(_ opened: OpenedPicture) -> String {
    if let profile = opened.profile {
      if let known = profile.known { return known.rawValue }
      switch profile.space {
      case "CMYK": return "cmyk"
      case "GRAY": return "grey"
      default: return profile.name ?? "unknown"
      }
    }
    switch opened.header.space {
    case .cmyk: return "cmyk"
    case .grey, .grey16: return "grey"
    default: break
    }
    // Cameras mark Adobe RGB without a profile; source: EXIF 2.32, annex C.
    if opened.exif?.colorSpace == 2 || opened.exif?.interoperability == "R03" {
      return ColorProfile.Known.adobeRGB.rawValue
    }
    return ColorProfile.Known.srgb.rawValue
  }
}

/// Estimates of the memory that decoding a picture takes.
///
/// Measured with libvips 8.14.1 on 64 megapixels, beyond the library's own use: JPEG 11 MB,
/// progressive 190 MB; PNG 39 MB, interlaced 210 MB; TIFF with LZW 41 MB; HEIC 396 MB.
struct DecodeMemory {
  /// Bytes for decoding from top to bottom, keeping only some rows.
  let streamed: Int
  /// Bytes for decoding that keeps all pixels.
  let whole: Int

  /// What libvips and its libraries use for the smallest picture.
  private static let base = 48 << 20
  /// The rows that loader, resampler and sink buffer.
  private static let rows = 512

  init(_ opened: OpenedPicture) {
    let header = opened.header
    let pixels = header.width * header.height
    let bytes = header.bands * header.bitsPerValue / 8
    let all = pixels * bytes
    let some = header.width * bytes * min(Self.rows, header.height)
    let needed: Int
    switch opened.loader {
    case .jpeg:
      // Progressive files keep all coefficients, two bytes each; 4:2:0 has half as many.
      let halves = header.text("jpeg-chroma-subsample") == "4:2:0" ? 1 : 2
      needed = header.isInterlaced ? pixels * header.bands * halves + some : some
    case .png: needed = header.isInterlaced ? all + some : some
    // A raster of four bytes per pixel, and the strip from which it is made; or one of 24 bits a sample.
    case .tiff where opened.isConverted:
      needed = max(pixels * 8, header.bitsPerValue == 16 ? pixels * header.bands * 4 : 0)
    case .tiff: needed = some * 2
    // The canvas, and the previous one for restoring.
    case .gif: needed = pixels * 8
    case .webp, .jxl: needed = pixels * 4 + all
    // The canvas of a strip, and what its shapes take, which no header tells.
    case .svg, .pdf: needed = min(pixels * 4, 64 << 20) + (64 << 20)
    // Wavelets of a tile, four bytes a value; most pictures are one tile.
    case .jp2k: needed = pixels * header.bands * 4 + all
    // Values of four bytes, all of them.
    case .hdr, .exr, .fits: needed = opened.decodedPixels * header.bands * 4 * 2
    case .pnm, nil: needed = some
    // Planes of the codec, pixels of libheif, then pixels of libvips.
    case .heif: needed = pixels * 4 + all
    }
    streamed = Self.base + needed
    whole = Self.base + max(needed, 0) + all
  }
}

/// Facts about raw files that consist of TIFF tags.
enum RawFacts {
  /// Reads the tags; returns nothing if there are none.
  static func read(_ file: PictureFile, _ exif: ExifBlock?) throws(VipsError) -> [String: JSONValue]
  {
    let size = try file.withTags { reader in
      reader.directory(at: reader.first).flatMap { largest(reader, $0, exif) }
    }
    guard case let size?? = size else { return [:] }
    let orientation = exif?.orientation ?? 1
    let swaps = orientation > 4
    return [
      "width": .integer(swaps ? size.height : size.width),
      "height": .integer(swaps ? size.width : size.height),
      "orientation": .integer(orientation),
    ]
  }

  /// The largest picture that any directory describes.
  private static func largest(
    _ reader: TagReader, _ main: TagReader.Directory, _ exif: ExifBlock?
  ) -> (width: Int, height: Int)? {
    var directories = [main] + reader.integers(0x014A, in: main).compactMap(reader.directory)
    var next = main.next
    for _ in 0..<8 {
      guard next > 0, let directory = reader.directory(at: next) else { break }
      directories.append(directory)
      next = directory.next
    }
    var sizes: [(width: Int, height: Int)] = directories.compactMap { directory in
      guard let width = reader.integer(0x0100, in: directory),
        let height = reader.integer(0x0101, in: directory)
      else { return nil }
      return (width, height)
    }
    if let width = exif?.width, let height = exif?.height { sizes.append((width, height)) }
    let sane = sizes.filter {
      (1...100_000).contains($0.width) && (1...100_000).contains($0.height)
    }
    return sane.max { $0.width * $0.height < $1.width * $1.height }
  }
}

/// Facts about formats that are not decoded but have their size at a fixed offset.
enum PlainHeaders {
  /// Reads width and height; returns nothing for other formats and invalid sizes.
  static func read(
    _ type: MediaType, head: [UInt8], _ embedded: EmbeddedMetadata
  ) -> [String: JSONValue] {
    func number(_ offset: Int, _ size: Int, little: Bool = false) -> Int? {
      guard offset + size <= head.count else { return nil }
      let bytes = head[offset..<(offset + size)]
      let add: (Int, UInt8) -> Int = { $0 << 8 | Int($1) }
      return little ? bytes.reversed().reduce(0, add) : bytes.reduce(0, add)
    }
    let width: Int?
    let height: Int?
    switch type.rawValue {
    case "image/vnd.adobe.photoshop":
      (width, height) = (number(18, 4), number(14, 4))
    case "image/bmp" where head.starts(with: Array("BM".utf8)):
      // A negative height, in two's complement, means rows from top to bottom.
      let rows = number(22, 4, little: true).map { Int(Int32(truncatingIfNeeded: $0)).magnitude }
      (width, height) = (number(18, 4, little: true), rows.map { Int($0) })
    default: return [:]
    }
    guard let width, let height, (1...1_000_000).contains(width), (1...1_000_000).contains(height)
    else { return [:] }
    var facts: [String: JSONValue] = [
      "width": .integer(width), "height": .integer(height), "orientation": 1,
    ]
    facts["bitDepth"] = embedded.bitDepth.map { .integer($0) }
    return facts
  }
}
