import Containers

/// The previews in a raw file's directories.
///
/// LibRaw 0.20 unpacks one thumbnail only, the largest; cameras and converters write several.
struct RawPreviews {
  struct Candidate: Hashable {
    var offset: Int
    var length: Int
    /// The DNG tag PreviewColorSpace; `nil` if there is none.
    var colorSpace: Int?
  }

  private(set) var candidates: [Candidate] = []
  /// Where the TIFF header with the picture's tags is.
  private(set) var tagsOffset = 0

  /// Whether LibRaw might take a thumbnail of Kodak's own coding, in layers, or of more bytes than its
  /// pixels have, which 0.20 unpacks beyond the end of its memory. These are no JPEG anyway.
  private(set) var hasUnsafeThumbnail = false
  /// The length of the track's one sample, which comes before its offset.
  private var pendingSampleLength: Int?

  /// How many directories are read at most, so that no file makes this long.
  private static let directoryLimit = 40
  /// A preview of more bytes is not one.
  private static let lengthLimit = 64 << 20

  /// Walks TIFF directories, the table of an X3F file, the boxes of a CR3 file, or RAF's header.
  init(_ file: RawFile) {
    let bytes = ByteReader(size: file.size, limit: 1 << 20) { file.read(at: $0, count: $1) }
    if bytes.code(at: 0) == "FOVb" {
      readX3F(bytes)
    } else if bytes.code(at: 4) == "ftyp" {
      var allowance = 200
      readBoxes(bytes, 0..<file.size, &allowance)
    } else if bytes.code(at: 0, 8) == "FUJIFILM" {
      // Source: as for `RawExtent`.
      if let offset = bytes.number(at: 84, 4), let length = bytes.number(at: 88, 4) {
        candidates.append(Candidate(offset: offset, length: length))
      }
    } else if let reader = file.tags() {
      readDirectories(reader)
    }
    candidates = candidates.filter {
      $0.offset > 0 && $0.length > 100 && $0.length <= Self.lengthLimit
        && $0.offset < file.size
    }
  }

  private mutating func readDirectories(_ reader: TagReader) {
    var pending = [reader.first]
    var seen: Set<Int> = []
    while let offset = pending.popLast(), seen.count < Self.directoryLimit {
      guard seen.insert(offset).inserted, let directory = reader.directory(at: offset) else {
        continue
      }
      read(reader, directory)
      // SubIFDs, then the next directory.
      pending += reader.integers(0x014A, in: directory)
      if directory.next > 0 { pending.append(directory.next) }
    }
  }

  private mutating func read(_ reader: TagReader, _ directory: TagReader.Directory) {
    let colorSpace = reader.integer(0xC71A, in: directory)
    func add(_ offset: Int?, _ length: Int?) {
      guard let offset, let length else { return }
      candidates.append(Candidate(offset: offset, length: length, colorSpace: colorSpace))
    }
    // JPEGInterchangeFormat and its length.
    add(reader.integer(0x0201, in: directory), reader.integer(0x0202, in: directory))
    // One strip of JPEG data: old-style (6) in CR2, ARW and PEF, new-style (7) in DNG.
    // LibRaw skips a tag whose values would lie beyond the file's end, so only a single value counts.
    let isOne = directory.entries[0x0103]?.count == 1
    let compression = isOne ? reader.integer(0x0103, in: directory) : nil
    // What `LibRaw::apply_tiff` takes for one: its code, plain values of more than eight bits, or a
    // picture without a code that it can read.
    let isSensor = [32803, 34892].contains(reader.integer(0x0106, in: directory) ?? 0)
    let bits = reader.integer(0x0102, in: directory) ?? 8
    switch compression ?? 0 {
    case 0: if directory.entries[0x0100] != nil { hasUnsafeThumbnail = true }
    case 1:
      if !isSensor, bits > 8 || Self.isTooLong(reader, directory) { hasUnsafeThumbnail = true }
    case 65000: hasUnsafeThumbnail = true
    default: break
    }
    let strips = reader.integers(0x0111, in: directory, limit: 2)
    if compression == 6 || compression == 7, strips.count == 1 {
      add(strips.first, reader.integer(0x0117, in: directory))
    }
    // Panasonic's JpgFromRaw holds the JPEG as a value. Source: ExifTool's PanasonicRaw tags.
    if let value = directory.entries[0x002E], value.type == 7 || value.type == 1 {
      add(value.offset, value.count)
    }
  }

  /// Whether a plain picture has more bytes than three for each pixel, or not three samples a pixel:
  /// `LibRaw::unpack_thumb` takes memory for the pixels and reads all bytes.
  private static func isTooLong(_ reader: TagReader, _ directory: TagReader.Directory) -> Bool {
    guard let width = reader.integer(0x0100, in: directory),
      let height = reader.integer(0x0101, in: directory)
    else { return false }
    let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
    let lengths = reader.integers(0x0117, in: directory)
    let isCounted = directory.entries[0x0117].map { $0.count == lengths.count } ?? true
    let bytes = lengths.reduce(0) { $0 &+ $1 }
    return overflow || pixels > lengthLimit || !isCounted
      || reader.integer(0x0115, in: directory) != 3
      || !(0...3 * pixels).contains(bytes)
  }

  /// Reads the table at an X3F file's end.
  ///
  /// Debian's LibRaw is built without X3F, so the previews are all there is. Source: Sigma's X3F
  /// specification, version 2.2: `SECd`, version, count, then offset, length and type of each
  /// section; an image section has a header of 28 bytes, of which the fourth number is the format,
  /// 18 for JPEG.
  private mutating func readX3F(_ reader: ByteReader) {
    guard let table = reader.number(at: reader.size - 4, 4, littleEndian: true),
      reader.code(at: table) == "SECd",
      let count = reader.number(at: table + 8, 4, littleEndian: true)
    else { return }
    for index in 0..<min(count, 64) {
      let entry = table + 12 + index * 12
      guard let offset = reader.number(at: entry, 4, littleEndian: true),
        let length = reader.number(at: entry + 4, 4, littleEndian: true)
      else { return }
      guard reader.code(at: offset) == "SECi",
        reader.number(at: offset + 12, 4, littleEndian: true) == 18
      else { continue }
      candidates.append(Candidate(offset: offset + 28, length: length - 28, colorSpace: nil))
    }
  }

  /// Finds the previews in a CR3 file's boxes.
  ///
  /// LibRaw 0.20 knows few of the cameras that write CR3. Source: L. Clévy's description of CR3:
  /// `PRVW` and `THMB` hold a JPEG after 24 bytes with its length at 20, or at 16 in `THMB`; the
  /// first track is one JPEG of the full size; `CMT1` is TIFF's first directory.
  private mutating func readBoxes(
    _ reader: ByteReader, _ range: Range<Int>, _ allowance: inout Int
  ) {
    var at = range.lowerBound
    while at + 8 <= range.upperBound, allowance > 0 {
      allowance -= 1
      guard var length = reader.number(at: at, 4), let kind = reader.code(at: at + 4) else {
        return
      }
      // Eight bytes, of which the first is 0 in any file.
      if length == 1 { length = reader.number(at: at + 9, 7) ?? 0 }
      guard length >= 8, length <= range.upperBound - at else { return }
      let box = at..<(at + length)
      switch kind {
      case "moov", "trak", "mdia", "minf", "stbl":
        readBoxes(reader, (at + 8)..<box.upperBound, &allowance)
      case "uuid":
        // Canon's box of previews has eight bytes before the boxes.
        let inner = at + 24 + (reader.number(at: at + 8, 4) == 0xEAF4_2B5E ? 8 : 0)
        if inner < box.upperBound { readBoxes(reader, inner..<box.upperBound, &allowance) }
      case "PRVW", "THMB":
        if let size = reader.number(at: at + (kind == "PRVW" ? 20 : 16), 4) {
          candidates.append(Candidate(offset: at + 24, length: size))
        }
      case "CMT1": tagsOffset = at + 8
      case "stsz": pendingSampleLength = reader.number(at: at + 12, 4)
      case "co64":
        // Raw tracks are no JPEG that libjpeg reads.
        if let size = pendingSampleLength, size > 0, let offset = reader.number(at: at + 17, 7) {
          candidates.append(Candidate(offset: offset, length: size))
        }
        pendingSampleLength = nil
      default: break
      }
      at = box.upperBound
    }
  }
}
