extension EmbeddedMetadata {
  /// Walks the boxes of a HEIF, JPEG 2000, JPEG XL, QuickTime, MP4 or Canon CR3 file.
  ///
  /// Source: ISO/IEC 14496-12; ISO/IEC 15444-1, annex I; ISO/IEC 18181-2, section 9; Apple's QuickTime File
  /// Format; XMP part 3, section 1.2.
  mutating func readBoxes(_ reader: ByteReader) {
    let isOfPictureBrand = reader.code(at: 8).map(Self.pictureBrands.contains) ?? false
    if let container = HEIFContainer(reader) {
      addEXIF(container.exif)
      xmp = container.xmp
      bitDepth = container.bitDepth
      turnsPicture = container.turnsPicture
      hasTurnedThumbnails = container.hasTurnedThumbnails
    } else {
      // Also one that is cut off before its header.
      isFilm = !isOfPictureBrand && reader.code(at: 4).map(Self.filmBoxes.contains) ?? false
    }
    for box in reader.boxes() {
      switch box.type {
      case "moov":
        isFilm = !isOfPictureBrand
        readMovie(box.content, reader)
      case "uuid": readOwn(box.content, reader)
      case "jp2h":
        let header = reader.box("ihdr", in: box.content)
        // 255 means that depths differ.
        if let depth = header.flatMap({ reader.number(at: $0.content.lowerBound + 10, 1) }),
          depth != 255
        {
          bitDepth = (depth & 0x7F) + 1
        }
      case "Exif":
        // The first four bytes are the offset of the TIFF header after them.
        guard let block = Self.bytes(box.content, reader), block.count > 12 else { break }
        addEXIF(Array(block.dropFirst(4 + block[..<4].number())))
      case "xml ":
        if let text = Self.bytes(box.content, reader), XMPPacket.isPacket(text) {
          xmp = xmp ?? text
        }
      default: break
      }
    }
  }

  /// The brands of pictures that may contain a film, as sequences do.
  private static let pictureBrands: Set<String> = [
    "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs", "avif", "avis", "mif1", "miaf",
    "msf1", "crx ", "jp2 ", "jpx ", "jxl ",
  ]

  /// The boxes with which films begin.
  private static let filmBoxes: Set<String> = [
    "ftyp", "moov", "mdat", "wide", "pnot", "skip", "free",
  ]

  private static func bytes(_ range: Range<Int>, _ reader: ByteReader) -> [UInt8]? {
    range.count <= blockLimit ? reader.bytes(range) : nil
  }

  /// Reads a box whose type is a UUID.
  private mutating func readOwn(_ content: Range<Int>, _ reader: ByteReader) {
    guard content.count > 16,
      let id = reader.bytes(content.lowerBound..<(content.lowerBound + 16))
    else { return }
    let rest = (content.lowerBound + 16)..<content.upperBound
    switch id {
    case Self.xmpID: xmp = xmp ?? Self.bytes(rest, reader)
    case Self.iptcID: iptc = iptc ?? Self.bytes(rest, reader)
    case Self.exifID: addEXIF(Self.bytes(rest, reader))
    case Self.canonID: readCanon(rest, reader)
    default: break
    }
  }

  private static let xmpID: [UInt8] = [
    0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC,
  ]
  private static let iptcID: [UInt8] = [
    0x33, 0xC7, 0xA4, 0xD2, 0xB8, 0x1D, 0x47, 0x23, 0xA0, 0xBA, 0xF1, 0xA3, 0xE0, 0x97, 0xAD, 0x38,
  ]
  private static let exifID = Array("JpgTiffExif->JP2".utf8)
  private static let canonID: [UInt8] = [
    0x85, 0xC0, 0xB6, 0x87, 0x82, 0x0F, 0x11, 0xE0, 0x81, 0x11, 0xF4, 0xCE, 0x46, 0x2B, 0x6A, 0x48,
  ]

  /// Reads Canon's raw format, which has each directory in its own TIFF. Source: lclevy/canon_cr3.
  private mutating func readCanon(_ content: Range<Int>, _ reader: ByteReader) {
    var directories = ExifDirectories()
    for box in reader.boxes(in: content) where ["CMT1", "CMT2", "CMT4"].contains(box.type) {
      guard let bytes = Self.bytes(box.content, reader), let tags = TagReader(exif: bytes),
        let directory = tags.directory(at: tags.first)
      else { continue }
      switch box.type {
      case "CMT1": directories.image = (tags, directory)
      case "CMT2": directories.photo = (tags, directory)
      default: directories.gps = (tags, directory)
      }
    }
    if exif == nil, directories.image != nil || directories.photo != nil { exif = directories }
  }

  // MARK: - Films

  private mutating func readMovie(_ content: Range<Int>, _ reader: ByteReader) {
    var header: Text?
    for box in reader.boxes(in: content) {
      switch box.type {
      case "mvhd": header = Self.created(box.content, reader)
      case "uuid": readOwn(box.content, reader)
      case "meta": readKeys(box.content, reader)
      case "udta": readUserData(box.content, reader)
      default: break
      }
    }
    if let header { moments.append(header) }
  }

  /// The creation time in a film's header, in seconds since 1904, in UTC or the camera's local time.
  ///
  /// A time before 1970 was counted from 1970: some programs use the wrong epoch, and no digital
  /// film is that old. ExifTool assumes the same.
  private static func created(_ content: Range<Int>, _ reader: ByteReader) -> Text? {
    guard let version = reader.number(at: content.lowerBound, 1),
      let seconds = version == 1
        ? reader.number(at: content.lowerBound + 5, 7)
        : reader.number(at: content.lowerBound + 4, 4),
      seconds > 0,
      let text = CivilTime.text(
        secondsSince1904: seconds < CivilTime.unixEpoch ? seconds + CivilTime.unixEpoch : seconds)
    else { return nil }
    return Text(name: "quicktime:mvhd", text: text)
  }

  /// Reads QuickTime metadata: a list of names, and values that refer to it by index.
  private mutating func readKeys(_ content: Range<Int>, _ reader: ByteReader) {
    guard let keys = reader.box("keys", in: content), let list = reader.box("ilst", in: content)
    else { return }
    var names: [String] = []
    var at = keys.content.lowerBound + 8
    while at + 8 <= keys.content.upperBound, names.count < 1_000,
      let length = reader.number(at: at, 4), length > 8, length < 1_000,
      let name = reader.code(at: at + 8, length - 8)
    {
      names.append(name)
      at += length
    }
    func value(_ name: String) -> String? {
      guard let number = names.firstIndex(of: name).map({ $0 + 1 }) else { return nil }
      let type = String(latin1: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) })
      return Self.value(reader.box(type, "data", in: list.content), reader)
    }
    let date = "com.apple.quicktime.creationdate"
    if let text = value(date) { moments.insert(Text(name: "quicktime:\(date)", text: text), at: 0) }
    filmIdentifier = filmIdentifier ?? value("com.apple.quicktime.content.identifier")
  }

  /// Reads a film's user data: the day, as cameras and iTunes write it, and XMP.
  private mutating func readUserData(_ content: Range<Int>, _ reader: ByteReader) {
    for box in reader.boxes(in: content) {
      switch box.type {
      case "\u{A9}day":
        // Length, language, text.
        guard let length = reader.number(at: box.content.lowerBound, 2),
          let text = reader.code(at: box.content.lowerBound + 4, min(length, 64))
        else { break }
        moments.append(Text(name: "quicktime:\u{A9}day", text: text))
      case "XMP_": xmp = xmp ?? Self.bytes(box.content, reader)
      case "meta":
        let start = min(box.content.lowerBound + 4, box.content.upperBound)
        let day = reader.box("ilst", "\u{A9}day", "data", in: start..<box.content.upperBound)
        if let text = Self.value(day, reader) {
          moments.append(Text(name: "quicktime:\u{A9}day", text: text))
        }
      default: break
      }
    }
  }

  /// The text of a `data` box, after its type and locale.
  private static func value(_ box: Box?, _ reader: ByteReader) -> String? {
    guard let box, box.content.count > 8 else { return nil }
    let end = min(box.content.upperBound, box.content.lowerBound + 72)
    return reader.bytes((box.content.lowerBound + 8)..<end).map { String(latin1: $0) }
  }
}

/// A box of an ISO base media file, or a QuickTime atom, which has the same layout.
///
/// Source: ISO/IEC 14496-12, section 4.2.
struct Box {
  /// The four-character code, in ISO 8859-1.
  var type: String
  /// The range of its content, without the header.
  var content: Range<Int>
}

extension ByteReader {
  /// The boxes in a range, in order, up to the first invalid one.
  ///
  /// Reads only headers, so it finds boxes after any number of bytes.
  func boxes(in range: Range<Int>) -> [Box] {
    var boxes: [Box] = []
    var at = range.lowerBound
    while at + 8 <= range.upperBound, boxes.count < 4096 {
      guard var size = number(at: at, 4), let type = code(at: at + 4) else { break }
      var header = 8
      if size == 1 {
        // Seven bytes suffice for any file; eight could overflow.
        guard number(at: at + 8, 1) == 0, let large = number(at: at + 9, 7) else { break }
        size = large
        header = 16
      } else if size == 0 {
        size = range.upperBound - at
      }
      guard size >= header, size <= range.upperBound - at else { break }
      boxes.append(Box(type: type, content: (at + header)..<(at + size)))
      at += size
    }
    return boxes
  }

  func boxes() -> [Box] { boxes(in: 0..<size) }

  /// The first box at a path of types within a range.
  func box(_ path: String..., in range: Range<Int>) -> Box? {
    var found: Box?
    for type in path {
      found = boxes(in: found?.content ?? range).first { $0.type == type }
      guard found != nil else { return nil }
    }
    return found
  }
}
