import Containers
import PictureDecoding

/// The image resources of a PSD or PSB file that matter for its merged picture.
///
/// Source: Adobe Photoshop file formats specification, “Image resources section”. The merged picture is
/// blank if Photoshop saved the file without “Maximize compatibility”.
struct PhotoshopResources {
  /// Whether the file has a merged picture; one without layers has no other.
  let hasMergedPicture: Bool
  /// The JPEG of the thumbnail; empty if there is none.
  private let thumbnail: [UInt8]
  private let orientation: Int

  private static let thumbnailResource = 1036
  private static let versionResource = 1057
  private static let exifResource = 1058
  /// The most resources that are looked at; Photoshop writes some dozens.
  private static let countLimit = 10_000

  init(_ bytes: UnsafeRawBufferPointer) {
    let section = Self.section(in: bytes)
    let places = Self.places(in: bytes, section)
    func data(_ identifier: Int) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(rebasing: bytes[places[identifier] ?? 0..<0])
    }
    // Behind the version of four bytes.
    let isReal = data(Self.versionResource).big(4, 1) != 0
    // The length of the layers, which has eight bytes in PSB.
    let layers = bytes.dropFirst(section.upperBound).prefix(bytes.big(4, 2) == 2 ? 8 : 4)
    hasMergedPicture = isReal || layers.allSatisfy { $0 == 0 }
    thumbnail = Self.jpeg(in: data(Self.thumbnailResource))
    orientation = ExifBlock(Array(data(Self.exifResource)))?.orientation ?? 1
  }

  /// Where the resources are; empty if the file ends before them.
  private static func section(in bytes: UnsafeRawBufferPointer) -> Range<Int> {
    guard let colors = bytes.big(26, 4), let length = bytes.big(30 + colors, 4) else {
      return bytes.count..<bytes.count
    }
    let start = 34 + colors
    return start..<max(start, min(start + length, bytes.count))
  }

  /// Where the data of each resource are, by its number.
  private static func places(
    in bytes: UnsafeRawBufferPointer, _ section: Range<Int>
  ) -> [Int: Range<Int>] {
    var places: [Int: Range<Int>] = [:]
    var at = section.lowerBound
    let end = section.upperBound
    for _ in 0..<countLimit {
      // A signature, the number, a name behind its length, and the length of the data. Name and data are
      // filled up to even lengths.
      guard let identifier = bytes.big(at + 4, 2), let name = bytes.big(at + 6, 1) else { break }
      let start = at + 6 + (name + 2) / 2 * 2 + 4
      guard let size = bytes.big(start - 4, 4), size <= end - start else { break }
      places[identifier] = start..<(start + size)
      at = start + (size + 1) / 2 * 2
    }
    return places
  }

  /// The JPEG behind the header of the thumbnail's resource.
  private static func jpeg(in data: UnsafeRawBufferPointer) -> [UInt8] {
    let header = 28
    guard data.big(0, 4) == 1, let length = data.big(20, 4), length <= data.count - header else {
      return []
    }
    let jpeg = Array(data[header..<(header + length)])
    return jpeg.starts(with: [0xFF, 0xD8, 0xFF]) ? jpeg : []
  }

  /// The thumbnail, in place of a merged picture.
  ///
  /// - Throws: `DecoderError` of code `absent` if there is none.
  func preview() throws(DecoderError) -> DecodedPicture {
    guard !thumbnail.isEmpty else {
      throw DecoderError(
        .absent,
        "The PSD was saved without a merged picture; "
          + "save it in Photoshop with “Maximize compatibility”")
    }
    var picture = DecodedPicture(.encoded(thumbnail))
    picture.orientation = orientation
    picture.isPreview = true
    return picture
  }
}
