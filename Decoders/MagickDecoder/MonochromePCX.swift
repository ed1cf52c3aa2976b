/// A PCX of one plane with one bit a pixel.
///
/// Ones are white, whatever its palette says; MagickCore 6.9.11 makes them black. Source: ZSoft PCX file
/// format technical reference manual.
enum MonochromePCX {
  private static let bitsOffset = 3
  private static let planesOffset = 65

  /// Whether a file is one.
  static func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.little(bitsOffset, 1) == 1 && bytes.little(planesOffset, 1) == 1
  }

  /// Swaps black and white.
  static func invert(_ pixels: inout [UInt8]) {
    for index in pixels.indices { pixels[index] = ~pixels[index] }
  }
}
