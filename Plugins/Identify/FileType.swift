import CMagic
import Containers
import Glibc
import PipelineModel
import PipelinePlugin
import Vips

/// A file's type: libmagic's answer, corrected where libmagic 5.44 is wrong or vague.
struct FileType {
  let mediaType: MediaType

  /// Determines the type.
  ///
  /// - Parameters:
  ///   - head: the beginning of the file.
  ///   - file: the file, for formats that are identified by tags further back.
  ///   - sniffed: libmagic's answer.
  /// - Throws: `VipsError` only if the kernel can't read.
  init(head: [UInt8], file: PictureFile, sniffed: MediaType) throws(VipsError) {
    if let type = Self.signature(head) ?? Self.isoMedia(head, size: file.size) {
      mediaType = MediaType(rawValue: type)
    } else if let type = try file.withTags({ Self.tiffLike($0, head) }) ?? nil {
      mediaType = MediaType(rawValue: type)
    } else if XMPPacket.isPacket(head) {
      mediaType = MediaType(rawValue: "application/rdf+xml")
    } else if let type = LegacyPictureType.find(
      head: head, tail: try file.read(at: max(0, file.size - 26), count: 26), size: file.size)
    {
      mediaType = MediaType(rawValue: type)
    } else {
      mediaType = try Self.late(head, file, sniffed) ?? Self.usual(sniffed)
    }
  }

  /// The type of a drawing or a document that begins behind comments, white space or other bytes, which hide it
  /// from libmagic.
  private static func late(
    _ head: [UInt8], _ file: PictureFile, _ sniffed: MediaType
  ) throws(VipsError) -> MediaType? {
    let vague = ["text/plain", "text/html", "text/xml", "application/octet-stream"]
    guard sniffed == .unknown || vague.contains(sniffed.rawValue) else { return nil }
    if DrawingRoot.isDrawing(head) { return MediaType(rawValue: "image/svg+xml") }
    guard PictureSource.isDocument(head) else { return nil }
    // A text may speak of PDF.
    let tail = String(
      decoding: try file.read(at: max(0, file.size - 1024), count: 1024), as: UTF8.self)
    return tail.contains("startxref") ? MediaType(rawValue: "application/pdf") : nil
  }

  static func isRaw(_ type: MediaType) -> Bool { rawTypes.contains(type.rawValue) }

  private static let rawTypes: Set<String> = Set(
    rawMakers.map(\.type) + [
      "image/x-adobe-dng", "image/x-canon-cr2", "image/x-canon-cr3", "image/x-canon-crw",
      "image/x-fuji-raf", "image/x-minolta-mrw", "image/x-olympus-orf", "image/x-panasonic-rw2",
      "image/x-sigma-x3f", "image/x-raw",
    ])

  private static let rawMakers: [(make: String, type: String)] = [
    ("NIKON", "image/x-nikon-nef"), ("SONY", "image/x-sony-arw"),
    ("PENTAX", "image/x-pentax-pef"), ("RICOH", "image/x-pentax-pef"),
    ("SAMSUNG", "image/x-samsung-srw"), ("HASSELBLAD", "image/x-hasselblad-3fr"),
    ("EPSON", "image/x-epson-erf"), ("SEIKO EPSON", "image/x-epson-erf"),
    ("EASTMAN KODAK", "image/x-kodak-dcr"), ("KODAK", "image/x-kodak-dcr"),
    ("MAMIYA", "image/x-mamiya-mef"), ("LEAF", "image/x-leaf-mos"),
    ("PHASE ONE", "image/x-phaseone-iiq"), ("OLYMPUS", "image/x-olympus-orf"),
    ("CANON", "image/x-canon-cr2"), ("PANASONIC", "image/x-panasonic-rw2"),
    ("LEICA", "image/x-panasonic-rw2"),
  ]

  /// Signatures at fixed offsets that libmagic lacks, misses or names unusually.
  private static let signatures: [(offset: Int, bytes: [UInt8], type: String)] = [
    (0, [0xFF, 0xD8, 0xFF], "image/jpeg"),
    (0, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png"),
    (0, Array("8BPS\0\u{1}".utf8), "image/vnd.adobe.photoshop"),
    (0, Array("8BPS\0\u{2}".utf8), "image/vnd.adobe.photoshop"),
    (0, Array("GIF87a".utf8), "image/gif"),
    (0, Array("GIF89a".utf8), "image/gif"),
    (0, Array("FUJIFILMCCD-RAW".utf8), "image/x-fuji-raf"),
    (6, Array("HEAPCCDR".utf8), "image/x-canon-crw"),
    (0, Array("FOVb".utf8), "image/x-sigma-x3f"),
    (0, Array("\0MRM".utf8), "image/x-minolta-mrw"),
    (0, Array("IIRO".utf8), "image/x-olympus-orf"),
    (0, Array("IIRS".utf8), "image/x-olympus-orf"),
    (0, Array("MMOR".utf8), "image/x-olympus-orf"),
    (0, Array("IIU\0".utf8), "image/x-panasonic-rw2"),
    (0, [0x49, 0x49, 0xBC, 0x01], "image/jxr"),
    (0, [0x76, 0x2F, 0x31, 0x01], "image/x-exr"),
    // Tags with a large cover hide from libmagic what follows them.
    (0, Array("ID3\u{2}".utf8), "audio/mpeg"),
    (0, Array("ID3\u{3}".utf8), "audio/mpeg"),
    (0, Array("ID3\u{4}".utf8), "audio/mpeg"),
    (0, Array("#?RADIANCE".utf8), "image/vnd.radiance"),
    (0, Array("#?RGBE".utf8), "image/vnd.radiance"),
    (0, Array("PF\n".utf8), "image/x-portable-floatmap"),
    (0, Array("Pf\n".utf8), "image/x-portable-floatmap"),
    (0, [0xFF, 0x0A], "image/jxl"),
    (0, [0, 0, 0, 0x0C, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A, 0x87, 0x0A], "image/jxl"),
  ]

  private static func signature(_ head: [UInt8]) -> String? {
    if head.starts(with: Array("RIFF".utf8)), head.count >= 12 {
      switch String(decoding: head[8..<12], as: UTF8.self) {
      case "WEBP": return "image/webp"
      case "AVI ": return "video/x-msvideo"
      case "WAVE": return "audio/x-wav"
      default: return nil
      }
    }
    for signature in signatures
    where head.dropFirst(signature.offset).starts(with: signature.bytes) { return signature.type }
    // An array of OS/2's whose first member is a bitmap; the decoder shows that one.
    if head.starts(with: Array("BA".utf8)), head.dropFirst(14).starts(with: Array("BM".utf8)) {
      return "image/bmp"
    }
    if isTransportStream(head, packet: 188, lead: 0)
      || isTransportStream(head, packet: 192, lead: 4)
      || isTransportStream(head, packet: 204, lead: 0)
    {
      return "video/mp2t"
    }
    return nil
  }

  /// Whether packets start with the same byte; cameras put four bytes of time before each, and broadcasts
  /// have sixteen for correction after it.
  private static func isTransportStream(_ head: [UInt8], packet: Int, lead: Int) -> Bool {
    guard head.count >= lead + packet * 4 else { return false }
    return (0..<4).allSatisfy { head[lead + packet * $0] == 0x47 }
  }

  /// Determines the type of ISO base media files from their brands.
  private static func isoMedia(_ head: [UInt8], size fileSize: Int) -> String? {
    guard head.count >= 12 else { return nil }
    let kind = String(decoding: head[4..<8], as: UTF8.self)
    guard kind == "ftyp" else {
      // QuickTime files from before brands existed.
      let size = head[0..<4].reduce(0) { $0 << 8 | Int($1) }
      switch kind {
      case "moov", "mdat": return size == 1 || size >= 8 ? "video/quicktime" : nil
      // Words, with which a text may begin, too.
      case "wide", "pnot", "skip", "free":
        return (8...max(8, fileSize)).contains(size) ? "video/quicktime" : nil
      default: return nil
      }
    }
    let length = min(head[0..<4].reduce(0) { $0 << 8 | Int($1) }, head.count, 256)
    let brands = stride(from: 8, to: max(length - 3, 9), by: 4).map {
      String(decoding: head[$0..<min($0 + 4, head.count)], as: UTF8.self)
    }
    guard let major = brands.first else { return nil }
    switch major {
    case "heic", "heix", "heim", "heis": return "image/heic"
    case "hevc", "hevx", "hevm", "hevs": return "image/heic-sequence"
    case "avif": return "image/avif"
    // Only a film, unless another brand says that there is a picture.
    case "avis":
      return brands.contains { ["avif", "mif1"].contains($0) }
        ? "image/avif" : "image/avif-sequence"
    case "mif1", "miaf":
      // The structural brand alone does not tell the codec.
      if brands.contains("avif") { return "image/avif" }
      return brands.contains { ["heic", "heix"].contains($0) } ? "image/heic" : "image/heif"
    case "msf1": return "image/heif-sequence"
    case "crx ": return "image/x-canon-cr3"
    case "jp2 ": return "image/jp2"
    case "jpx ": return "image/jpx"
    case "qt  ": return "video/quicktime"
    case "M4A ", "M4B ", "M4P ": return "audio/mp4"
    case _ where major.hasPrefix("3g2"): return "video/3gpp2"
    case _ where major.hasPrefix("3g"): return "video/3gpp"
    default: return "video/mp4"
    }
  }

  /// Raw files that start like TIFF; libmagic calls most of them `image/tiff`.
  private static func tiffLike(_ reader: TagReader, _ head: [UInt8]) -> String? {
    guard reader.magic == 42 || reader.magic == 43 else { return nil }
    if head.count >= 10, head[8..<10].elementsEqual("CR".utf8) { return "image/x-canon-cr2" }
    if isPhaseOne(head) { return "image/x-phaseone-iiq" }
    guard reader.magic == 42, let main = reader.directory(at: reader.first) else {
      return "image/tiff"
    }
    // DNGVersion.
    if main.entries[0xC612] != nil { return "image/x-adobe-dng" }
    let directories = [main] + reader.integers(0x014A, in: main).compactMap(reader.directory)
    guard directories.contains(where: { isRaw($0, reader) }) else { return "image/tiff" }
    let make = (reader.text(0x010F, in: main) ?? "").uppercased()
    return rawMakers.first { make.hasPrefix($0.make) }?.type ?? "image/x-raw"
  }

  /// Whether there is a block behind the header that the tags do not mention. Source: LibRaw's
  /// `parse_phase_one`.
  private static func isPhaseOne(_ head: [UInt8]) -> Bool {
    let mark = head.dropFirst(8).prefix(8)
    // “Raw” and a digit or letter, in the order of bytes that the first four name.
    return mark.starts(with: "IIII".utf8) && mark.dropFirst(5).elementsEqual("waR".utf8)
      || mark.starts(with: "MMMM".utf8) && mark.dropFirst(4).prefix(3).elementsEqual("Raw".utf8)
  }

  /// Whether a directory describes sensor values: a colour filter array, or a maker's compression.
  private static func isRaw(_ directory: TagReader.Directory, _ reader: TagReader) -> Bool {
    let photometric = reader.integer(0x0106, in: directory) ?? 0
    let compression = reader.integer(0x0103, in: directory) ?? 1
    return [32803, 34892].contains(photometric)
      || [32767, 32769, 32770, 34713, 65000, 65024, 65535].contains(compression)
  }

  /// Replaces libmagic's names with the usual ones.
  private static func usual(_ type: MediaType) -> MediaType {
    switch type.rawValue {
    case "image/x-ms-bmp": MediaType(rawValue: "image/bmp")
    case "video/x-m4v": MediaType(rawValue: "video/mp4")
    // libmagic gives the same kind two names, by how it is written.
    case "image/x-portable-graymap": MediaType(rawValue: "image/x-portable-greymap")
    // Without one of the signatures above, libmagic is wrong.
    case "image/jpeg", "image/png", "image/gif", "image/webp", "image/tiff", "image/heic",
      "image/heif", "image/avif":
      .unknown
    default: type
    }
  }
}

/// libmagic, with its database loaded once per instance.
///
/// Used by one thread at a time.
final class TypeSniffer {
  /// The number of bytes to examine.
  ///
  /// Enough for every picture and video signature; libmagic's own megabyte costs time for text,
  /// which nobody needs here.
  static let headLength = 1 << 16

  /// The version, such as `5.44`.
  static var version: String { "\(magic_version() / 100).\(magic_version() % 100)" }

  private let cookie: magic_t

  init() throws(PluginFailure) {
    // Skip archives, text encodings, document kinds and structure.
    let flags =
      MAGIC_MIME_TYPE | MAGIC_ERROR | MAGIC_NO_CHECK_COMPRESS | MAGIC_NO_CHECK_ELF
      | MAGIC_NO_CHECK_TOKENS
    guard let cookie = magic_open(flags) else {
      throw PluginFailure(.environment, "libmagic can't be started.")
    }
    guard magic_load(cookie, nil) == 0 else {
      let reason = magic_error(cookie).map { String(cString: $0) } ?? "no reason given"
      magic_close(cookie)
      throw PluginFailure(.environment, "libmagic's database can't be loaded: \(reason).")
    }
    self.cookie = cookie
  }

  deinit { magic_close(cookie) }

  func type(of bytes: [UInt8]) -> MediaType {
    // Behind a byte order mark, libmagic sees no XML.
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let bytes = bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes
    guard let name = magic_buffer(cookie, bytes, bytes.count) else { return .unknown }
    let text = String(
      decoding: UnsafeRawBufferPointer(start: name, count: strlen(name)), as: UTF8.self)
    return Self.isMediaType(text) ? MediaType(rawValue: text) : .unknown
  }

  /// Whether text is a valid type and subtype, as in RFC 6838.
  private static func isMediaType(_ text: String) -> Bool {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    let kinds = ["application", "audio", "font", "image", "message", "model", "text", "video"]
    guard parts.count == 2, kinds.contains(String(parts[0])), !parts[1].isEmpty else {
      return false
    }
    return text != "application/x-empty"
      && parts[1].utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ";") }
  }
}
