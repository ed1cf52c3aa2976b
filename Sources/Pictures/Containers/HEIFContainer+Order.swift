/// The order of an item's properties in a HEIC or AVIF container.
///
/// Transformations come last, by the standard. Sony's cameras write `irot` first, and libheif 1.15 then takes the
/// height of an upright picture for its width. Source: ISO/IEC 23008-12, section 9.3.
extension HEIFContainer {
  /// Bytes that take the place of others in the file.
  package struct Edit: Hashable, Sendable {
    package let offset: Int
    package let bytes: [UInt8]
  }

  private static let transformations = ["clap", "imir", "irot"]

  /// Returns what puts transformations behind the other properties, of all items; nothing if they are there.
  package static func editsThatPutTransformationsLast(_ reader: ByteReader) -> [Edit] {
    guard let meta = reader.boxes().first(where: { $0.type == "meta" }), meta.content.count > 4
    else { return [] }
    let inner = reader.boxes(in: (meta.content.lowerBound + 4)..<meta.content.upperBound)
    let parts = inner.first { $0.type == "iprp" }.map { reader.boxes(in: $0.content) } ?? []
    guard let container = parts.first(where: { $0.type == "ipco" }) else { return [] }
    let transforming = reader.boxes(in: container.content).map {
      transformations.contains($0.type)
    }
    return parts.filter { $0.type == "ipma" }.flatMap { box in
      entries(reader, box.content).compactMap { edit(of: $0, transforming, reader) }
    }
  }

  private static func edit(
    of entry: AssociationEntry, _ transforming: [Bool], _ reader: ByteReader
  ) -> Edit? {
    let all = (0..<entry.count).compactMap { index in
      let start = entry.offset + index * entry.size
      return reader.bytes(start..<(start + entry.size))
    }
    let parts = all.map { association -> (bytes: [UInt8], isLast: Bool) in
      // The first bit says that the property is essential; numbers begin with 1.
      let index = association.number() & (1 << (entry.size * 8 - 1) - 1)
      return (association, transforming.indices.contains(index - 1) && transforming[index - 1])
    }
    let sorted = (parts.filter { !$0.isLast } + parts.filter(\.isLast)).flatMap(\.bytes)
    return sorted == all.flatMap { $0 } ? nil : Edit(offset: entry.offset, bytes: sorted)
  }
}
