/// In which order a Radiance picture has its pixels.
///
/// libvips 8.14 reads them as they come and takes the first for the one at the top left. Source: “Radiance File
/// Formats”, picture files; EXIF 2.32, section 4.6.4.
enum RadianceOrder {
  /// The EXIF orientation for the line behind the header; the first letter is that of the direction in which
  /// rows follow each other, the second that of pixels in a row.
  private static let orientations = [
    "-Y +X": 1, "-Y -X": 2, "+Y -X": 3, "+Y +X": 4, "+X -Y": 5, "-X -Y": 6, "-X +Y": 7, "+X +Y": 8,
  ]
  /// How long the header may be.
  private static let headLength = 1 << 16

  /// Returns the EXIF orientation to apply to pixels as they come; 1 if nothing says another.
  static func orientation(_ file: PictureFile) throws(VipsError) -> Int {
    let lines = try file.read(at: 0, count: headLength)
      .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // The header ends with an empty line.
    guard let end = lines.firstIndex(of: []), end + 1 < lines.count else { return 1 }
    let words = String(decoding: lines[end + 1].prefix(100), as: UTF8.self).split(separator: " ")
    guard words.count == 4 else { return 1 }
    return orientations["\(words[0]) \(words[2])"] ?? 1
  }
}
