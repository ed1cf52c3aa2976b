/// The size in which a QuickTime or MP4 film is shown, as the headers of its tracks tell it.
package struct FilmSize: Hashable, Sendable {
  /// Pixels.
  package let width: Int
  package let height: Int

  /// Reads the largest track of a film; returns `nil` if none has pictures.
  ///
  /// Source: ISO/IEC 14496-12, “Track Header Box”.
  ///
  /// - Parameter range: where the film is in the file.
  package init?(_ reader: ByteReader, in range: Range<Int>) {
    guard let movie = reader.boxes(in: range).first(where: { $0.type == "moov" }) else {
      return nil
    }
    var best: (width: Int, height: Int) = (0, 0)
    for track in reader.boxes(in: movie.content) where track.type == "trak" {
      guard let header = reader.box("tkhd", in: track.content),
        let size = Self.size(reader, endOfHeader: header.content.upperBound)
      else { continue }
      if size.width * size.height > best.width * best.height { best = size }
    }
    guard best.width > 0, best.height > 0 else { return nil }
    (width, height) = best
  }

  /// A header ends with a matrix of nine numbers, the width and the height, in 16.16.
  private static func size(
    _ reader: ByteReader, endOfHeader end: Int
  ) -> (width: Int, height: Int)? {
    func number(_ offset: Int) -> Int? {
      reader.number(at: end - offset, 4).map { Int(Int32(truncatingIfNeeded: $0)) }
    }
    guard let a = number(44), let b = number(40), let width = reader.number(at: end - 8, 2),
      let height = reader.number(at: end - 4, 2)
    else { return nil }
    return abs(b) > abs(a) ? (height, width) : (width, height)
  }
}
