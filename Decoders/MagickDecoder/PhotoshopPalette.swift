/// The palette of a PSD with indexed colours.
///
/// MagickCore 6.9.11 refuses a picture whose only channel has indexes. It reads that of a duotone as it
/// is, and takes no notice of a palette then, so such a file is handed to it as one. Source: Adobe
/// Photoshop file formats specification, “File header section” and “Color mode data section”.
struct PhotoshopPalette {
  /// 256 values of red, then of green and of blue.
  private let values: [UInt8]

  private static let modeOffset = 24
  private static let duotone: UInt8 = 8

  /// - Returns: `nil` for a PSD without one.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.big(12, 2) == 1, bytes.big(22, 2) == 8, bytes.big(Self.modeOffset, 2) == 2,
      let length = bytes.big(26, 4), length >= 768, bytes.count >= 30 + 768
    else { return nil }
    values = Array(bytes[30..<(30 + 768)])
  }

  /// Has MagickCore read the indexes of a file as grey.
  static func hide(in file: FileBytes) { file.set(duotone, at: modeOffset + 1) }

  /// The colours of indexes: red, green and blue for each.
  func colors(_ indexes: [UInt8]) -> [UInt8] {
    var colors: [UInt8] = []
    colors.reserveCapacity(3 * indexes.count)
    for index in indexes {
      for plane in 0..<3 { colors.append(values[256 * plane + Int(index)]) }
    }
    return colors
  }
}
