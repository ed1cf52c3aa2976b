/// The metadata that a file carries, found by walking its container.
///
/// Nothing is decoded that a container doesn't have to say itself: EXIF stays
/// directories, XMP a packet, IPTC its datasets. What is damaged is absent.
package struct EmbeddedMetadata {
  /// A text under the name that the file gives it.
  package struct Text: Hashable, Sendable {
    /// PNG's keyword, or the name of a chunk, an atom or a box.
    package var name: String
    /// The text, as written.
    package var text: String
  }

  /// EXIF's directories.
  package internal(set) var exif: ExifDirectories?
  /// The packet of XMP.
  package internal(set) var xmp: [UInt8]?
  /// IPTC's datasets (IIM).
  package internal(set) var iptc: [UInt8]?
  /// PNG's and GIF's texts for people.
  package internal(set) var texts: [Text] = []
  /// The blocks of PNG that were read, by their keywords.
  var blocks: Set<String> = []
  /// How many bytes compressed texts may still have together, in bytes.
  var inflatable = 16 << 20
  /// Moments that the container names itself, the better ones first: `riff:IDIT` and the like.
  package internal(set) var moments: [Text] = []
  /// How many frames an animation says it has.
  package internal(set) var frames: Int?
  /// Whether the file is of a kind that is walked here.
  package private(set) var isKnown = true
  /// Bits of a channel as stored.
  package internal(set) var bitDepth: Int?
  /// Whether the container of a HEIF picture says itself how it is turned.
  package internal(set) var turnsPicture = false

  /// Bytes of a block beyond which it is not read.
  static let blockLimit = 16 << 20

  /// Walks a file of any format; what is no container that is known has nothing.
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
      // A photograph of the usual kind is where the header says. Source: LibRaw, `parse_fuji`.
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

  /// Types of the first box of files that are made of boxes.
  private static let boxTypes = [
    "ftyp", "moov", "mdat", "wide", "pnot", "skip", "free", "jP  ", "JXL ",
  ]

  /// Looks for a packet by its beginning and its end, as XMP is meant to be found in files whose
  /// structure is nobody's business. Source: XMP part 3, section 1.4.
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

  /// Takes a block of EXIF, with or without what formats put before its header.
  mutating func addEXIF(_ block: [UInt8]?) {
    guard exif == nil, let block, let reader = TagReader(exif: block) else { return }
    exif = ExifDirectories(reader)
  }
}
