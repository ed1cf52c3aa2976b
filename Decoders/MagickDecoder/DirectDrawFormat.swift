import PictureDecoding

/// How the pixels of a DDS are stored.
///
/// Source: Microsoft's programming guide for DDS, structure `DDS_PIXELFORMAT`.
enum DirectDrawFormat {
  private static let flagsOffset = 80
  private static let codeOffset = 84
  /// The flag of pixels that are compressed as a code of four letters says.
  private static let hasCode = 4
  /// What MagickCore 6.9.11 decodes.
  private static let codes = ["DXT1", "DXT3", "DXT5"]

  /// - Throws: `DecoderError` of code `undecodable` if the pixels are compressed otherwise.
  static func refuseUnknown(_ bytes: UnsafeRawBufferPointer) throws(DecoderError) {
    guard let flags = bytes.little(flagsOffset, 4), flags & hasCode != 0 else { return }
    let code = bytes.dropFirst(codeOffset).prefix(4)
    guard !codes.contains(where: { code.elementsEqual($0.utf8) }) else { return }
    throw DecoderError(
      .undecodable,
      "The DDS can't be decoded: of compressed ones, only DXT1, DXT3 and DXT5 are decoded")
  }
}
