/// Looks at an SVG before librsvg does, which can't be interrupted.
enum DrawingStructure {
  /// The most elements of a drawing, and with it comments and ends of elements.
  ///
  /// librsvg 2.54 takes 2.3 to 2.5 seconds of a processor for so many small rectangles, and refuses
  /// only a million elements. Elements that entities or references repeat are bounded by librsvg
  /// itself, and by the time that a job may take.
  static let mostTags = 200_000

  /// Refuses a drawing that has too many elements.
  ///
  /// Each has a `<`, in whatever encoding, so counting those finds no less than there are.
  static func refuseEndless(_ file: PictureFile) throws(VipsError) {
    var count = 0
    var offset = 0
    while offset < file.size {
      let bytes = try file.read(at: offset, count: 1 << 20)
      if bytes.isEmpty { return }
      count += bytes.count { $0 == UInt8(ascii: "<") }
      offset += bytes.count
      guard count <= mostTags else {
        throw VipsError(
          .tooLarge, "The SVG has more than \(mostTags) tags, the most that are drawn")
      }
    }
  }
}
