/// The EXIF values that plugins use.
package struct ExifBlock: Hashable, Sendable {
  /// The EXIF orientation, 1 to 8; `nil` if absent or invalid.
  package var orientation: Int?
  /// When the picture was taken, with fraction and zone: `2024:05:06 07:08:09`.
  package var original: Moment?
  /// When the picture was digitized.
  package var digitized: Moment?
  /// The GPS time, in UTC.
  package var satellites: String?
  /// The width recorded by the camera, in pixels.
  package var width: Int?
  /// The height recorded by the camera, in pixels.
  package var height: Int?
  /// 1 for sRGB, 2 for Adobe RGB, 65535 for others.
  package var colorSpace: Int?
  /// `R98` for sRGB, `R03` for Adobe RGB.
  package var interoperability: String?
  package var make: String?

  /// A time in three EXIF tags.
  package struct Moment: Hashable, Sendable {
    /// `2024:05:06 07:08:09`, as written.
    package var text: String
    /// The digits of the fractional second, as written.
    package var fraction: String?
    /// The zone, such as `+02:00`, as written.
    package var offset: String?
  }

  /// Reads a block as embedded in a picture.
  package init?(_ bytes: [UInt8]) {
    guard let directories = TagReader(exif: bytes).flatMap(ExifDirectories.init) else { return nil }
    self.init(directories)
  }

  package init(_ directories: ExifDirectories) {
    if let (reader, main) = directories.image {
      orientation = reader.integer(0x0112, in: main).flatMap { (1...8).contains($0) ? $0 : nil }
      make = reader.text(0x010F, in: main)
      // TIFF/EP files have these tags here.
      original = reader.text(0x9003, in: main).map { Moment(text: $0) }
      digitized = reader.text(0x9004, in: main).map { Moment(text: $0) }
    }
    if let (reader, exif) = directories.photo {
      func moment(_ tag: UInt16, fraction: UInt16, offset: UInt16) -> Moment? {
        reader.text(tag, in: exif).map {
          Moment(
            text: $0, fraction: reader.text(fraction, in: exif),
            offset: reader.text(offset, in: exif))
        }
      }
      original = moment(0x9003, fraction: 0x9291, offset: 0x9011) ?? original
      digitized = moment(0x9004, fraction: 0x9292, offset: 0x9012) ?? digitized
      width = reader.integer(0xA002, in: exif)
      height = reader.integer(0xA003, in: exif)
      colorSpace = reader.integer(0xA001, in: exif)
    }
    if let (reader, gps) = directories.gps, let date = reader.text(0x001D, in: gps) {
      let clock = reader.fractions(0x0007, in: gps).compactMap { $0 }
      if clock.count == 3, clock.allSatisfy({ (0..<61).contains($0) }) {
        let parts = clock.map { ($0 < 10 ? "0" : "") + "\(Int($0))" }
        satellites = "\(date) \(parts.joined(separator: ":"))Z"
      }
    }
    interoperability = directories.interoperability.flatMap { reader, further in
      reader.text(0x0001, in: further)
    }
  }
}

/// The EXIF directories of an EXIF block or a TIFF file: image, photo, GPS and interoperability.
///
/// Source: EXIF 2.32, section 4.6.3.
package struct ExifDirectories {
  /// A directory, and the reader of its values.
  package typealias Part = (reader: TagReader, directory: TagReader.Directory)

  /// The first directory.
  package var image: Part?
  package var photo: Part?
  package var gps: Part?
  package var interoperability: Part?

  /// The tags that point to other directories.
  private static let pointers: [UInt16] = [0x8769, 0x8825, 0xA005]

  init() {}

  /// Reads the first directory and those it points to.
  init?(_ reader: TagReader) {
    guard let image = reader.directory(at: reader.first) else { return nil }
    self.image = (reader, image)
    func part(_ tag: UInt16, in directory: TagReader.Directory) -> Part? {
      reader.integer(tag, in: directory).flatMap(reader.directory).map { (reader, $0) }
    }
    photo = part(0x8769, in: image)
    gps = part(0x8825, in: image)
    interoperability = photo.flatMap { part(0xA005, in: $0.directory) }
  }

  /// What an iPhone's maker note has in common with the film of a Live Photo; `nil` if there is none.
  package var contentIdentifier: String? { appleText(0x0011) }

  /// What the maker notes of all pictures of an iPhone's burst have in common; `nil` if there is none.
  package var burstIdentifier: String? { appleText(0x000B) }

  /// A text of an iPhone's maker note.
  ///
  /// Source: ExifTool's tables of Apple's tags, BurstUUID and ContentIdentifier.
  private func appleText(_ tag: UInt16) -> String? {
    // After a name and a version, a directory whose offsets begin at the note.
    let head = Array("Apple iOS\0\0\u{1}MM".utf8)
    guard let (reader, photo) = photo,
      let note = reader.bytes(0x927C, in: photo, limit: 1 << 16), note.starts(with: head)
    else { return nil }
    let header: [UInt8] = [0x4D, 0x4D, 0, 42, 0, 0, 0, UInt8(head.count)]
    guard let tags = TagReader(exif: header + note[header.count...]),
      let directory = tags.directory(at: tags.first)
    else { return nil }
    return tags.text(tag, in: directory)
  }

  // MARK: - Writing

  /// These directories as a classic TIFF, for a library that reads nothing else.
  ///
  /// Omits offsets into the old file, including maker notes, which contain some, and values of more
  /// than 64 KiB.
  package var block: [UInt8] {
    guard let littleEndian = (image ?? photo ?? gps)?.reader.isLittleEndian else { return [] }
    var block = TagBlock(littleEndian: littleEndian)
    // A TIFF has one byte order for all directories.
    func usable(_ part: Part?) -> Part? {
      part?.reader.isLittleEndian == littleEndian ? part : nil
    }
    let (photo, gps) = (usable(photo), usable(gps))
    let further = photo == nil ? nil : usable(interoperability)
    let places = block.append(
      Self.values(image), pointers: (photo == nil ? [] : [0x8769]) + (gps == nil ? [] : [0x8825]))
    if let photo, let place = places[0x8769] {
      block.point(at: place)
      let inner = block.append(Self.values(photo), pointers: further == nil ? [] : [0xA005])
      if let further, let place = inner[0xA005] {
        block.point(at: place)
        block.append(Self.values(further), pointers: [])
      }
    }
    if let gps, let place = places[0x8825] {
      block.point(at: place)
      block.append(Self.values(gps), pointers: [])
    }
    return block.bytes
  }

  /// Tags of offsets and lengths in the file, of large blocks, and of maker notes.
  private static let left: Set<UInt16> = [
    0x0111, 0x0117, 0x0120, 0x0121, 0x0144, 0x0145, 0x014A, 0x015B, 0x0201, 0x0202, 0x02BC, 0x83BB,
    0x8649, 0x8773, 0x927C, 0xC634,
  ]

  private static func values(_ part: Part?) -> [TagBlock.Value] {
    guard let part else { return [] }
    // Values with false offsets may overlap, and add up to more than the file.
    var room = 4 << 20
    return part.directory.entries.sorted { $0.key < $1.key }.compactMap { tag, entry in
      guard !left.contains(tag), !pointers.contains(tag),
        let bytes = part.reader.bytes(tag, in: part.directory, limit: min(1 << 16, room))
      else { return nil }
      room -= bytes.count
      // Only BigTIFF has integers of eight bytes.
      guard [16, 17, 18].contains(entry.type) else {
        return TagBlock.Value(tag: tag, type: entry.type, count: entry.count, bytes: bytes)
      }
      guard entry.type != 17 else { return nil }
      let isLittle = part.reader.isLittleEndian
      let halves = stride(from: 0, to: bytes.count, by: 8).flatMap {
        bytes[($0 + (isLittle ? 0 : 4))..<($0 + (isLittle ? 4 : 8))]
      }
      return TagBlock.Value(tag: tag, type: 4, count: entry.count, bytes: Array(halves))
    }
  }
}

/// A writer of a TIFF header and directories.
private struct TagBlock {
  struct Value {
    var tag: UInt16
    var type: UInt16
    var count: Int
    var bytes: [UInt8]
  }

  private(set) var bytes: [UInt8]
  private let littleEndian: Bool

  init(littleEndian: Bool) {
    self.littleEndian = littleEndian
    bytes = Array((littleEndian ? "II" : "MM").utf8)
    bytes += number(42, 2) + number(8, 4)
  }

  private func number(_ value: Int, _ size: Int) -> [UInt8] {
    let big = (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * (size - 1 - $0))) }
    return littleEndian ? big.reversed() : big
  }

  /// Sets the pointer at an offset to the next directory to append.
  mutating func point(at place: Int) {
    bytes.replaceSubrange(place..<(place + 4), with: number(bytes.count, 4))
  }

  /// Appends a directory; returns the offset of each pointer.
  @discardableResult
  mutating func append(_ values: [Value], pointers: [UInt16]) -> [UInt16: Int] {
    let all = values + pointers.map { Value(tag: $0, type: 4, count: 1, bytes: [0, 0, 0, 0]) }
    let start = bytes.count + 2
    bytes += number(all.count, 2) + [UInt8](repeating: 0, count: all.count * 12 + 4)
    var places: [UInt16: Int] = [:]
    for (index, value) in all.sorted(by: { $0.tag < $1.tag }).enumerated() {
      let place = start + index * 12
      var entry = number(Int(value.tag), 2) + number(Int(value.type), 2) + number(value.count, 4)
      if value.bytes.count > 4 {
        entry += number(bytes.count, 4)
        bytes += value.bytes
        if !bytes.count.isMultiple(of: 2) { bytes.append(0) }
      } else {
        entry += value.bytes + [UInt8](repeating: 0, count: 4 - value.bytes.count)
      }
      bytes.replaceSubrange(place..<(place + 12), with: entry)
      if pointers.contains(value.tag) { places[value.tag] = place + 8 }
    }
    return places
  }
}
