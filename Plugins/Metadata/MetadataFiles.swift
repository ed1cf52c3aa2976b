import Containers

/// The metadata of one file by two readers: exiv2's own, and the blocks that the container holds.
///
/// Exiv2 refuses a file as a whole for one part that it does not understand, and finds nothing in
/// some containers. What it misses is taken from the blocks, which it reads one by one.
struct MetadataFiles {
  private let whole: MetadataFile?
  private let blocks: MetadataFile?
  /// Why exiv2 does not read the file as a whole.
  let refusal: MetadataFile.Refusal?

  /// Reads the file at an absolute path.
  ///
  /// - Throws: why exiv2 refuses the file, where its blocks say nothing either.
  init(path: String, embedded: EmbeddedMetadata) throws(MetadataFile.Refusal) {
    var refusal: MetadataFile.Refusal?
    var whole: MetadataFile?
    do throws(MetadataFile.Refusal) {
      whole = try MetadataFile(path: path)
    } catch {
      refusal = error
    }
    self.refusal = refusal
    self.whole = whole
    let container = MetadataContainer(
      exif: whole?.has(.exif) == true ? nil : embedded.exif?.block,
      iptc: whole?.has(.iptc) == true ? nil : embedded.iptc,
      xmp: whole?.has(.xmp) == true ? nil : embedded.xmp)
    guard !container.isEmpty else {
      // What has no blocks in a container that is known has no metadata but its texts.
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

  /// The reader that has a family, or `nil` where nobody has.
  subscript(family: MetadataFile.Family) -> MetadataFile? {
    [whole, blocks].lazy.compactMap { $0 }.first { $0.has(family) }
  }
}

/// Blocks of metadata in the plainest file that holds all three: Photoshop's, without a picture.
///
/// Neither EXIF nor XMP has a bound of its length there, as in a JPEG. Source: Adobe's Photoshop
/// File Formats Specification, “File Header Section” and “Image Resources Section”.
private struct MetadataContainer {
  /// Image resources by number.
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
    // One pixel of three channels of eight bits in RGB, without a table of colours.
    var bytes = Array("8BPS".utf8)
    for (value, size) in [(1, 2), (0, 6), (3, 2), (1, 4), (1, 4), (8, 2), (3, 2), (0, 4)] {
      bytes += number(value, size)
    }
    bytes += number(section.count, 4) + section
    // Neither layers nor, of the pixel, more than it has to have.
    return bytes + number(0, 4) + number(0, 2) + [0, 0, 0]
  }
}
