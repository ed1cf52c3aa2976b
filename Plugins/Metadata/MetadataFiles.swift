import Containers

/// The metadata of one file from two sources: exiv2's reading of the file, and the container's
/// blocks.
///
/// Exiv2 rejects a whole file for one part that it does not understand, and finds nothing in some
/// containers. What it misses comes from the blocks, which it reads one by one.
struct MetadataFiles {
  private let whole: MetadataFile?
  private let blocks: MetadataFile?
  /// Why exiv2 rejects the whole file.
  let refusal: MetadataFile.Refusal?

  /// Reads the file at an absolute path.
  ///
  /// - Throws: exiv2's reason for rejecting the file, if the blocks contain nothing either.
  init(path: String, embedded: EmbeddedMetadata) throws(MetadataFile.Refusal) {
    var refusal: MetadataFile.Refusal?
    var whole: MetadataFile?
    // Of films exiv2 tells its own names for what is no metadata, such as the path.
    if !embedded.isFilm {
      do throws(MetadataFile.Refusal) {
        whole = try MetadataFile(path: path)
      } catch {
        refusal = error
      }
    }
    self.refusal = refusal
    self.whole = whole
    let container = MetadataContainer(
      exif: whole?.has(.exif) == true ? nil : embedded.exif?.block,
      iptc: whole?.has(.iptc) == true ? nil : embedded.iptc,
      xmp: whole?.has(.xmp) == true ? nil : embedded.xmp)
    guard !container.isEmpty else {
      // A known container without blocks has no metadata except texts.
      if let refusal, !(refusal.isUnknownKind && embedded.isKnown), embedded.texts.isEmpty {
        throw refusal
      }
      blocks = nil
      return
    }
    do throws(MetadataFile.Refusal) {
      blocks = try MetadataFile(bytes: container.bytes)
    } catch {
      if let refusal, embedded.texts.isEmpty { throw refusal }
      blocks = nil
    }
  }

  /// The reader that has a family, or `nil`.
  subscript(family: MetadataFile.Family) -> MetadataFile? {
    [whole, blocks].lazy.compactMap { $0 }.first { $0.has(family) }
  }
}

/// Metadata blocks in the simplest file that holds all three: a Photoshop file without a picture.
///
/// Unlike in a JPEG, the length of EXIF and XMP is unlimited there. Source: Adobe's Photoshop File
/// Formats Specification, “File Header Section” and “Image Resources Section”.
private struct MetadataContainer {
  private var resources: [(number: Int, content: [UInt8])] = []

  init(exif: [UInt8]?, iptc: [UInt8]?, xmp: [UInt8]?) {
    if let iptc { resources.append((0x0404, iptc)) }
    if let exif { resources.append((0x0422, exif)) }
    if let xmp { resources.append((0x0424, Array(EncodedText.decode(xmp).utf8))) }
    resources.removeAll { $0.content.isEmpty }
  }

  var isEmpty: Bool { resources.isEmpty }

  var bytes: [UInt8] {
    func number(_ value: Int, _ size: Int) -> [UInt8] {
      (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * (size - 1 - $0))) }
    }
    var section: [UInt8] = []
    for (id, content) in resources {
      section += Array("8BIM".utf8) + number(id, 2) + [0, 0] + number(content.count, 4) + content
      if !content.count.isMultiple(of: 2) { section.append(0) }
    }
    // One pixel of three 8-bit RGB channels, without a colour table.
    var bytes = Array("8BPS".utf8)
    for (value, size) in [(1, 2), (0, 6), (3, 2), (1, 4), (1, 4), (8, 2), (3, 2), (0, 4)] {
      bytes += number(value, size)
    }
    bytes += number(section.count, 4) + section
    // No layers, and the minimum of pixel data.
    return bytes + number(0, 4) + number(0, 2) + [0, 0, 0]
  }
}
