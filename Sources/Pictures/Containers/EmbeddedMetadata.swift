/// The metadata embedded in a file, found by walking its container.
///
/// Decodes only the container itself: EXIF stays directories, XMP a packet, IPTC
/// datasets. Damaged parts are absent.
package struct EmbeddedMetadata {
  package struct Text: Hashable, Sendable {
    /// The PNG keyword, or the name of a chunk, an atom or a box.
    package var name: String
    /// The text, as written.
    package var text: String
  }

  package internal(set) var exif: ExifDirectories?
  package internal(set) var xmp: [UInt8]?
  /// The IPTC datasets (IIM).
  package internal(set) var iptc: [UInt8]?
  /// The texts of PNG and GIF.
  package internal(set) var texts: [Text] = []
  /// The keywords of the PNG blocks already read.
  var blocks: Set<String> = []
  /// The remaining allowance for inflated texts together, in bytes.
  var inflatable = 16 << 20
  /// Times that the container itself records, the better ones first: `riff:IDIT` and the like.
  package internal(set) var moments: [Text] = []
  /// Whether it is a QuickTime or MP4 film, not a picture in such boxes.
  package internal(set) var isFilm = false
  /// What a Live Photo's film has in common with its picture, as the film records it.
  var filmIdentifier: String?
  package internal(set) var frames: Int?
  /// How many pictures a JPEG file has, if it has an index of several.
  package internal(set) var pictures: Int?
  /// Whether the file has a known container format.
  package private(set) var isKnown = true
  /// Bits per channel as stored.
  package internal(set) var bitDepth: Int?
  /// Whether a HEIF container itself specifies the picture's rotation or mirroring.
  package internal(set) var turnsPicture = false
  /// Whether a HEIF container has thumbnails that are turned as its picture is.
  package internal(set) var hasTurnedThumbnails = false

  /// The maximum size of a block to read, in bytes.
  static let blockLimit = 16 << 20

  /// Walks a file of any format; an unknown one has no metadata.
  package init(_ reader: ByteReader) {
    guard let head = reader.bytes(0..<min(16, reader.size)), head.count >= 8 else {
      isKnown = false
      return
    }
    func has(_ text: String, at offset: Int = 0) -> Bool {
      head.dropFirst(offset).starts(with: text.utf8)
    }
    if head.starts(with: [0xFF, 0xD8, 0xFF]) {
      readJPEG(reader, at: 0)
    } else if head.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
      readPNG(reader)
    } else if has("RIFF") {
      readRIFF(reader)
    } else if has("GIF8") {
      readGIF(reader)
    } else if has("8BPS") {
      readPhotoshop(reader)
    } else if has("FUJIFILMCCD-RAW"), let start = reader.number(at: 84, 4) {
      // The header has the offset of an embedded JPEG. Source: LibRaw, `parse_fuji`.
      readJPEG(reader, at: start)
    } else if has("\0MRM") {
      readMinolta(reader)
    } else if has("II") || has("MM") {
      readTIFF(reader)
    } else if Self.boxTypes.contains(where: { has($0, at: 4) }) {
      readBoxes(reader)
    } else if has("%!PS") || has("%PDF") || head.starts(with: [0xC5, 0xD0, 0xD3, 0xC6]) {
      xmp = Self.scannedPacket(reader)
    } else if let packet = Self.packet(in: reader) {
      xmp = packet
    } else {
      isKnown = false
    }
  }

  /// Possible types of the first box of a file.
  private static let boxTypes = [
    "ftyp", "moov", "mdat", "wide", "pnot", "skip", "free", "jP  ", "JXL ",
  ]

  /// Searches for a packet by its start and end, as the standard intends for files of unknown
  /// structure. Source: XMP part 3, section 1.4.
  private static func scannedPacket(_ reader: ByteReader) -> [UInt8]? {
    let whole = reader.bytes(0..<min(reader.size, blockLimit)) ?? []
    return whole.withUnsafeBufferPointer { bytes in
      func find(_ text: String, from start: Int) -> Int? {
        let wanted = Array(text.utf8)
        var at = start
        while at + wanted.count <= bytes.count {
          if bytes[at] == wanted[0], bytes[at...].starts(with: wanted) { return at }
          at += 1
        }
        return nil
      }
      guard let start = find("<?xpacket begin", from: 0),
        let end = find("<?xpacket end", from: start)
      else { return nil }
      return Array(bytes[start..<end])
    }
  }

  /// What the picture and the film of a Live Photo have in common, a UUID; `nil` if the file is neither.
  package var contentIdentifier: String? { filmIdentifier ?? exif?.contentIdentifier }

  /// Adds an EXIF block, with or without the prefix of some formats.
  mutating func addEXIF(_ block: [UInt8]?) {
    guard exif == nil, let block, let reader = TagReader(exif: block) else { return }
    exif = ExifDirectories(reader)
  }
}

extension EmbeddedMetadata {
  /// Reads the directories of a TIFF file, or of a raw file based on TIFF.
  mutating func readTIFF(_ reader: ByteReader) {
    let tags = TagReader { offset, count in
      guard offset >= 0, offset < reader.size else { return [] }
      return reader.bytes(offset..<min(offset + count, reader.size)) ?? []
    }
    guard let tags, let directories = ExifDirectories(tags), let (_, main) = directories.image
    else { return }
    exif = directories
    // TIFF 6.0, section 8: the default is 1.
    if tags.magic == 42 || tags.magic == 43 {
      bitDepth = tags.integer(0x0102, in: main) ?? 1
    }
    xmp = tags.bytes(0x02BC, in: main, limit: Self.blockLimit)
    iptc = tags.bytes(0x83BB, in: main, limit: Self.blockLimit)
    if let resources = tags.bytes(0x8649, in: main, limit: Self.blockLimit) {
      readResources(ByteReader(resources), in: 0..<resources.count)
    }
  }

  /// Reads Minolta's raw format: a header, then blocks, one of them with the EXIF directories.
  ///
  /// Source: LibRaw, `parse_minolta`.
  mutating func readMinolta(_ reader: ByteReader) {
    guard let end = reader.number(at: 4, 4).map({ min($0 + 8, reader.size) }) else { return }
    var at = 8
    while at + 8 <= end, let length = reader.number(at: at + 4, 4) {
      if reader.code(at: at) == "\0TTW", length <= Self.blockLimit {
        addEXIF(reader.bytes((at + 8)..<(at + 8 + length)))
      }
      at += 8 + length
    }
  }
}
