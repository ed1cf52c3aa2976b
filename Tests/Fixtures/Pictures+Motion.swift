extension Pictures {
  /// The boxes of a film without frames, whose one track has a size.
  ///
  /// - Parameters:
  ///   - isTurned: whether it is shown turned by a quarter.
  ///   - brand: `isom`, or `qt  ` for QuickTime.
  package static func filmBoxes(
    width: Int = 64, height: Int = 48, isTurned: Bool = false, brand: String = "isom"
  ) -> [UInt8] {
    // Source: ISO/IEC 14496-12, “Track Header Box”: everything before the matrix is of no interest.
    let one = 1 << 16
    let matrix = isTurned ? [0, one, 0, -one, 0, 0] : [one, 0, 0, 0, one, 0]
    let header =
      [UInt8](repeating: 0, count: 40) + (matrix + [0, 0, 1 << 30]).flatMap { big($0, 4) }
      + big(width, 2) + big(0, 2) + big(height, 2) + big(0, 2)
    return box("ftyp", Array(brand.utf8) + big(0, 4))
      + box("mdat", [UInt8](repeating: 7, count: 3_000_000))
      + box("moov", box("trak", box("tkhd", header)))
  }

  /// A JPEG that a film follows, as telephones wrote it first.
  package static func motionPhoto(_ film: [UInt8]) throws -> [UInt8] {
    let packet = """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF \
      xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" \
      xmlns:GCamera="http://ns.google.com/photos/1.0/camera/" GCamera:MicroVideo="1" \
      GCamera:MicroVideoOffset="\(film.count)"/></rdf:RDF></x:xmpmeta>
      """
    let content = Array("http://ns.adobe.com/xap/1.0/\0".utf8) + Array(packet.utf8)
    let plain = try file(try picture(width: 60, height: 40), ".jpg[strip]")
    return plain[..<2] + [0xFF, 0xE1] + big(content.count + 2, 2) + content + plain[2...] + film
  }
}
