/// An EXIF block with a camera, a place, a time, and a preview if wanted.
///
/// Source: EXIF 2.32, section 4.6; TIFF 6.0, section 2.
package struct PicturesExif: Sendable {
  /// 1 to 8, or anything else to see what comes of nonsense; `nil` to leave it out.
  package var orientation: Int?
  /// `2024:05:06 07:08:09`, as EXIF writes it.
  package var dateTimeOriginal: String?
  /// Digits behind the second.
  package var subSecond: String?
  /// The zone.
  package var offset: String?
  /// The model of the camera.
  package var model = "Model F"
  /// The UUID that an iPhone gives all pictures of a burst.
  package var burst: String?
  /// The UUID that an iPhone gives both parts of a Live Photo.
  package var livePhoto: String?
  /// A JPEG file for the second directory.
  package var preview: [UInt8]?

  /// Makes a block. It always names a camera and a place.
  package init(
    orientation: Int? = 1, dateTimeOriginal: String? = "2024:05:06 07:08:09",
    subSecond: String? = nil, offset: String? = nil, preview: [UInt8]? = nil
  ) {
    self.orientation = orientation
    self.dateTimeOriginal = dateTimeOriginal
    self.subSecond = subSecond
    self.offset = offset
    self.preview = preview
  }

  /// The camera's name, which no stripped file may contain.
  package static let camera = "Fixture Camera 1"

  /// The block with its `Exif` prefix.
  package var bytes: [UInt8] { Array("Exif\0\0".utf8) + tiff() }

  /// A raw file without a picture: a DNG by its version tag.
  package var dng: [UInt8] { tiff(adding: [Tag(0xC612, bytes: [1, 4, 0, 0])]) }

  private func tiff(adding more: [Tag] = []) -> [UInt8] {
    var tags = more + [Tag(0x010F, text: Self.camera), Tag(0x0110, text: model)]
    if let orientation { tags.append(Tag(0x0112, short: orientation)) }
    var exif: [Tag] = []
    if let dateTimeOriginal { exif.append(Tag(0x9003, text: dateTimeOriginal)) }
    if let offset { exif.append(Tag(0x9011, text: offset)) }
    if let subSecond { exif.append(Tag(0x9291, text: subSecond)) }
    if let note = appleNote { exif.append(Tag(0x927C, undefined: note)) }
    // 48° 51' 29" N, 2° 17' 40" E.
    let place = [
      Tag(1, text: "N"), Tag(2, rationals: [48, 51, 29]), Tag(3, text: "E"),
      Tag(4, rationals: [2, 17, 40]),
    ]
    tags.append(Tag(0x8769, directory: exif))
    tags.append(Tag(0x8825, directory: place))
    var next: [Tag] = []
    if let preview {
      next = [Tag(0x0103, short: 6), Tag(0x0201, file: preview), Tag(0x0202, long: preview.count)]
    }
    return Self.assemble(tags, next: next)
  }

  /// An iPhone's maker note, a directory whose offsets begin at the note.
  ///
  /// Source: ExifTool's tables of Apple's tags.
  private var appleNote: [UInt8]? {
    let texts = [(0x0B, burst), (0x11, livePhoto)].compactMap { tag, text in
      text.map { (tag, Array($0.utf8) + [0]) }
    }
    if texts.isEmpty { return nil }
    var note = Array("Apple iOS\0\0\u{1}MM".utf8) + big(texts.count, 2)
    var place = note.count + texts.count * 12 + 4
    for (tag, value) in texts {
      note += big(tag, 2) + big(2, 2) + big(value.count, 4) + big(place, 4)
      place += value.count
    }
    return note + big(0, 4) + texts.flatMap(\.1)
  }

  private struct Tag {
    let number: Int
    let type: Int
    let count: Int
    let value: [UInt8]
    var directory: [Tag] = []
    var isFile = false

    init(_ number: Int, text: String) {
      (self.number, type, value) = (number, 2, Array(text.utf8) + [0])
      count = value.count
    }

    init(_ number: Int, short: Int) {
      (self.number, type, count, value) = (number, 3, 1, big(short, 2))
    }

    init(_ number: Int, bytes: [UInt8]) {
      (self.number, type, count, value) = (number, 1, bytes.count, bytes)
    }

    init(_ number: Int, undefined bytes: [UInt8]) {
      (self.number, type, count, value) = (number, 7, bytes.count, bytes)
    }

    init(_ number: Int, long: Int) {
      (self.number, type, count, value) = (number, 4, 1, big(long, 4))
    }

    init(_ number: Int, rationals: [Int]) {
      (self.number, type, count) = (number, 5, rationals.count)
      value = rationals.flatMap { big($0, 4) + big(1, 4) }
    }

    init(_ number: Int, directory: [Tag]) {
      (self.number, type, count, value) = (number, 4, 1, [])
      self.directory = directory
    }

    init(_ number: Int, file: [UInt8]) {
      (self.number, type, count, value) = (number, 4, 1, file)
      isFile = true
    }
  }

  private static func assemble(_ tags: [Tag], next: [Tag]) -> [UInt8] {
    var bytes = Array("MM".utf8) + big(42, 2) + big(8, 4)
    let link = append(tags, to: &bytes)
    if !next.isEmpty {
      bytes.replaceSubrange(link..<(link + 4), with: big(bytes.count, 4))
      append(next, to: &bytes)
    }
    return bytes
  }

  /// Appends a directory and its values; returns where the offset of the next one belongs.
  @discardableResult
  private static func append(_ tags: [Tag], to bytes: inout [UInt8]) -> Int {
    let start = bytes.count
    let tags = tags.sorted { $0.number < $1.number }
    bytes += big(tags.count, 2) + [UInt8](repeating: 0, count: tags.count * 12 + 4)
    for (index, tag) in tags.enumerated() {
      var entry = big(tag.number, 2) + big(tag.type, 2) + big(tag.count, 4)
      if !tag.directory.isEmpty || tag.isFile || tag.value.count > 4 {
        entry += big(bytes.count, 4)
        if tag.directory.isEmpty { bytes += tag.value } else { append(tag.directory, to: &bytes) }
        if !bytes.count.isMultiple(of: 2) { bytes.append(0) }
      } else {
        entry += tag.value + [UInt8](repeating: 0, count: 4 - tag.value.count)
      }
      let at = start + 2 + index * 12
      bytes.replaceSubrange(at..<(at + 12), with: entry)
    }
    return start + 2 + tags.count * 12
  }
}

/// A number in big-endian order.
private func big(_ value: Int, _ size: Int) -> [UInt8] {
  (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * (size - 1 - $0))) }
}
