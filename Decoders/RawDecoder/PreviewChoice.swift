import Containers
import PictureDecoding

/// The previews in a raw file that show the whole picture.
struct PreviewChoice {
  /// Where a preview's bytes are; those in the file are read when it is chosen.
  enum Place {
    case file(offset: Int)
    /// LibRaw's thumbnail, which the directories did not lead to.
    case memory([UInt8])
  }

  struct Preview {
    var place: Place
    /// In bytes.
    var length: Int
    var jpeg: JPEGPreview
    /// The EXIF orientation to apply to it.
    var orientation: Int
    /// Whether its colours are Adobe RGB and nothing in it says so.
    var isAdobeRGB: Bool
  }

  /// The picture's size as displayed.
  private(set) var size: (width: Int, height: Int)
  private(set) var orientation: Int
  /// From the smallest to the largest.
  private(set) var previews: [Preview] = []

  /// How far shapes may differ: LibRaw's margins differ from the makers', who also crop more than
  /// this and add bars.
  private static let shapeTolerance = 0.02
  /// A preview of this share of the picture's size has all that the developed picture has.
  private static let fullShare = 0.98
  /// How many bytes of a file are searched for previews, which may lie in one another. Cameras' own
  /// are a few megabytes each.
  private static let searchLimit = 256 << 20

  /// Finds the previews that have the picture's shape; LibRaw's image can't be developed afterwards.
  init(_ image: RawImage, _ file: RawFile) throws(DecoderError) {
    orientation = image.orientation
    let cameraIsAdobeRGB = image.isAdobeRGB
    size = try image.displaySize()
    // After the size: a thumbnail that is cut makes LibRaw forget the file.
    let found = RawPreviews(file)
    add(Self.search(found, file), found, file, cameraIsAdobeRGB: cameraIsAdobeRGB)
    if !found.hasUnsafeThumbnail, let thumbnail = image.thumbnail() {
      add(thumbnail, found, file, cameraIsAdobeRGB: cameraIsAdobeRGB)
    }
  }

  /// Finds the previews of a file that LibRaw can't open; `nil` if there is none.
  ///
  /// The largest tells size and shape.
  init?(unknownTo file: RawFile) {
    let found = RawPreviews(file)
    let reader = file.tags(at: found.tagsOffset)
    let main = reader.flatMap { $0.directory(at: $0.first) }
    let tag = main.flatMap { reader?.integer(0x0112, in: $0) }
    let jpegs = Self.search(found, file)
    guard
      let largest = jpegs.map(\.jpeg).max(by: { $0.width * $0.height < $1.width * $1.height })
    else { return nil }
    orientation = tag.flatMap { (1...8).contains($0) ? $0 : nil } ?? largest.orientation ?? 1
    let swaps = orientation > 4 && largest.orientation != 1
    size =
      swaps ? (largest.height, largest.width) : (largest.width, largest.height)
    add(jpegs, found, file, cameraIsAdobeRGB: false)
    if previews.isEmpty { return nil }
  }

  /// A whole JPEG in the file.
  private struct Found {
    var offset: Int
    var colorSpace: Int?
    var jpeg: JPEGPreview
    /// In bytes, without what follows it, such as padding.
    var length: Int
  }

  /// Reads the candidates one after another, each place once, and keeps what they are.
  private static func search(_ found: RawPreviews, _ file: RawFile) -> [Found] {
    var places: [Int: RawPreviews.Candidate] = [:]
    for candidate in found.candidates {
      let other = places[candidate.offset]
      var merged = candidate
      merged.length = max(candidate.length, other?.length ?? 0)
      merged.colorSpace = other?.colorSpace ?? candidate.colorSpace
      places[candidate.offset] = merged
    }
    var allowance = searchLimit
    return places.values.sorted { $0.offset < $1.offset }.compactMap { candidate in
      let length = min(candidate.length, file.size - candidate.offset)
      guard file.read(at: candidate.offset, count: 2) == [0xFF, 0xD8], length <= allowance else {
        return nil
      }
      allowance -= length
      guard let jpeg = JPEGPreview(file.read(at: candidate.offset, count: length)),
        let end = jpeg.end
      else { return nil }
      return Found(
        offset: candidate.offset, colorSpace: candidate.colorSpace, jpeg: jpeg, length: end)
    }
  }

  private mutating func add(
    _ jpegs: [Found], _ found: RawPreviews, _ file: RawFile, cameraIsAdobeRGB: Bool
  ) {
    let isAdobeRGB = Self.isAdobeRGB(found, file) ?? cameraIsAdobeRGB
    for found in jpegs {
      consider(found.jpeg, .file(offset: found.offset), found.colorSpace, isAdobeRGB: isAdobeRGB)
    }
  }

  /// Adds LibRaw's thumbnail, unless it is among the previews.
  private mutating func add(
    _ thumbnail: [UInt8], _ found: RawPreviews, _ file: RawFile, cameraIsAdobeRGB: Bool
  ) {
    guard !previews.contains(where: { $0.length >= thumbnail.count - 1024 }),
      let jpeg = JPEGPreview(thumbnail), let end = jpeg.end
    else { return }
    consider(
      jpeg, .memory(Array(thumbnail.prefix(end))), nil,
      isAdobeRGB: Self.isAdobeRGB(found, file) ?? cameraIsAdobeRGB)
  }

  /// Whether the picture's own tags say that colours are Adobe RGB; `nil` if they say nothing.
  private static func isAdobeRGB(_ found: RawPreviews, _ file: RawFile) -> Bool? {
    guard let reader = file.tags(at: found.tagsOffset),
      let main = reader.directory(at: reader.first)
    else { return nil }
    return EXIFColorSpace.isAdobeRGB(reader, main)
  }

  private mutating func consider(
    _ jpeg: JPEGPreview, _ place: Place, _ colorSpace: Int?, isAdobeRGB fallback: Bool
  ) {
    guard let length = jpeg.end, let turn = turn(of: jpeg) else { return }
    let isAdobeRGB: Bool
    switch colorSpace {
    case _ where jpeg.hasProfile: isAdobeRGB = false
    // PreviewColorSpace. Source: DNG 1.4, chapter 4.
    case 2: isAdobeRGB = false
    case 3: isAdobeRGB = true
    // ProPhoto RGB without a profile would be shown wrong.
    case 4: return
    default: isAdobeRGB = jpeg.isAdobeRGB ?? fallback
    }
    previews.append(
      Preview(
        place: place, length: length, jpeg: jpeg, orientation: turn, isAdobeRGB: isAdobeRGB))
    previews.sort { $0.jpeg.width * $0.jpeg.height < $1.jpeg.width * $1.jpeg.height }
  }

  /// The orientation to apply to a preview; `nil` if it does not show the whole picture.
  ///
  /// Its own EXIF orientation counts if it leads to the picture's shape. Without one, a preview of
  /// the stored shape is turned like the picture, and one of the displayed shape, if that differs,
  /// is already turned.
  private func turn(of jpeg: JPEGPreview) -> Int? {
    let shape = Double(size.width) / Double(size.height)
    func fits(_ width: Int, _ height: Int) -> Bool {
      abs(Double(width) / Double(height) - shape) <= Self.shapeTolerance * shape
    }
    if let own = jpeg.orientation {
      let isSwapped = own > 4
      if fits(isSwapped ? jpeg.height : jpeg.width, isSwapped ? jpeg.width : jpeg.height) {
        return own
      }
    }
    let isSwapped = orientation > 4
    if fits(isSwapped ? jpeg.height : jpeg.width, isSwapped ? jpeg.width : jpeg.height) {
      return orientation
    }
    return fits(jpeg.width, jpeg.height) ? 1 : nil
  }

  /// The smallest preview that is enough for a longer side.
  func smallest(for longest: Int?) -> Preview? {
    let full = Int(Double(max(size.width, size.height)) * Self.fullShare)
    let needed = min(longest ?? full, full)
    return previews.first { max($0.jpeg.width, $0.jpeg.height) >= needed }
  }

  var largest: Preview? { previews.last }
}

extension PreviewChoice.Preview {
  /// The preview as a decoder hands it out, with a profile in it where the colours need one.
  func picture(in file: RawFile) -> DecodedPicture {
    let bytes =
      switch place {
      case .file(let offset): file.read(at: offset, count: length)
      case .memory(let bytes): bytes
      }
    var picture = DecodedPicture(.encoded(isAdobeRGB ? Self.withAdobeRGBProfile(bytes) : bytes))
    picture.orientation = orientation
    picture.isPreview = true
    return picture
  }

  /// The JPEG with a profile segment after its first application segments.
  ///
  /// Source: ICC.1:2010, annex B.4.
  private static func withAdobeRGBProfile(_ bytes: [UInt8]) -> [UInt8] {
    var at = 2
    while at + 3 < bytes.count, bytes[at] == 0xFF, bytes[at + 1] == 0xE0 || bytes[at + 1] == 0xE1 {
      at += 2 + (Int(bytes[at + 2]) << 8 | Int(bytes[at + 3]))
    }
    guard at < bytes.count else { return bytes }
    let content = Array("ICC_PROFILE\0\u{1}\u{1}".utf8) + MatrixProfile.adobeRGB.bytes
    let length = content.count + 2
    let segment = [0xFF, 0xE2, UInt8(length >> 8), UInt8(length & 0xFF)] + content
    return Array(bytes[..<at]) + segment + Array(bytes[at...])
  }
}
