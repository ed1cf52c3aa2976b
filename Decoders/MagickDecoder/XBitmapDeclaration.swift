/// The declaration of the array in an XBM, which is C source.
///
/// MagickCore 6.9.11 reads no array of constants, and only values that begin behind the line of the brace.
enum XBitmapDeclaration {
  private static let beginning = Array("static ".utf8)
  private static let word = Array("const ".utf8)
  /// How far the brace is searched for.
  private static let most = 1 << 16

  /// Rewrites the declaration, in its length, as one that MagickCore reads.
  static func simplify(in file: FileBytes) {
    let head = file.bytes.prefix(most)
    guard let brace = head.firstIndex(of: UInt8(ascii: "{")),
      let start = (0..<brace).last(where: { head[$0...].starts(with: beginning) })
    else { return }
    let type = start + beginning.count
    if head[type...].starts(with: word) {
      for offset in 0..<word.count { file.set(UInt8(ascii: " "), at: type + offset) }
    }
    for offset in type..<brace where head[offset] == UInt8(ascii: "=") {
      file.set(UInt8(ascii: " "), at: offset)
    }
    file.set(UInt8(ascii: "\n"), at: brace)
  }
}
