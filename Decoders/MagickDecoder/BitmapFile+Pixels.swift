import PictureDecoding

extension BitmapFile {
  /// Decodes the pixels; a JPEG or PNG inside is handed out as it is.
  ///
  /// - Throws: `DecoderError` of code `undecodable` if most of the pixels are missing, or if there is
  ///   no such JPEG or PNG.
  func decode(
    _ bytes: UnsafeRawBufferPointer, isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedPicture {
    let data = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(start))
    if compression == .jpeg || compression == .png {
      let signature: [UInt8] =
        compression == .jpeg
        ? [0xFF, 0xD8, 0xFF] : [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
      guard data.starts(with: signature) else {
        throw Self.invalid("there is no \(compression == .jpeg ? "JPEG" : "PNG") in it")
      }
      return DecodedPicture(.encoded(Array(data)))
    }
    if compression == .huffman { return try decodeHuffman(data, isCancelled: isCancelled) }
    // Keeps a small file from asking for much memory: a run is of 255 pixels at most.
    let least = compression == .none ? stride * height / 8 : width * height / 128
    guard data.count >= least, !data.isEmpty else {
      throw Self.invalid("it ends before most of its pixels")
    }
    let bands = hasAlpha ? 4 : 3
    var pixels = [UInt8](repeating: 0, count: width * height * bands)
    let isWhole =
      compression == .none
      ? fill(&pixels, bands, data, isCancelled) : fillRuns(&pixels, data, isCancelled)
    if isCancelled() { throw DecoderError(.cancelled, "The job was cancelled") }
    if bands == 4, Swift.stride(from: 3, to: pixels.count, by: 4).allSatisfy({ pixels[$0] == 0 }) {
      // Some programs name an alpha channel and leave it empty.
      for at in Swift.stride(from: 3, to: pixels.count, by: 4) { pixels[at] = 255 }
    }
    var picture = DecodedPicture(.pixels(pixels, width: width, height: height, bands: bands))
    picture.profile = profile
    if !isWhole { picture.damage = "the file ends too early or its pixels are damaged" }
    return picture
  }

  /// Red, green and blue of 256 values.
  var table: [UInt8] {
    // Values beyond the palette are black.
    palette.flatMap(\.self) + [UInt8](repeating: 0, count: max(0, 256 - palette.count) * 3)
  }

  /// Returns whether all rows are there.
  private func fill(
    _ pixels: inout [UInt8], _ bands: Int, _ data: UnsafeRawBufferPointer, _ isCancelled: () -> Bool
  ) -> Bool {
    let table = table
    for line in 0..<height {
      if line % 64 == 0, isCancelled() { return true }
      let from = line * stride
      guard from + (width * bits + 7) / 8 <= data.count else { return false }
      let row = isTopDown ? line : height - 1 - line
      pixels.withUnsafeMutableBufferPointer { out in
        let target = UnsafeMutableBufferPointer(
          rebasing: out[(row * width * bands)..<((row + 1) * width * bands)])
        let source = UnsafeRawBufferPointer(rebasing: data[from...])
        switch bits {
        case 1...8: Self.expand(source, bits, table, target)
        case 24:
          for x in 0..<width {
            target[x * 3] = source[x * 3 + 2]
            target[x * 3 + 1] = source[x * 3 + 1]
            target[x * 3 + 2] = source[x * 3]
          }
        default: split(source, bands, target)
        }
      }
    }
    return true
  }

  private static func expand(
    _ source: UnsafeRawBufferPointer, _ bits: Int, _ table: [UInt8],
    _ target: UnsafeMutableBufferPointer<UInt8>
  ) {
    let perByte = 8 / bits
    let mask = 1 << bits - 1
    for x in 0..<(target.count / 3) {
      let shift = 8 - bits - x % perByte * bits
      let index = Int(source[x / perByte]) >> shift & mask
      for band in 0..<3 { target[x * 3 + band] = table[index * 3 + band] }
    }
  }

  private func split(
    _ source: UnsafeRawBufferPointer, _ bands: Int, _ target: UnsafeMutableBufferPointer<UInt8>
  ) {
    let size = bits / 8
    for band in 0..<bands {
      guard let channel = channels[band] else { continue }
      for x in 0..<width {
        let at = x * size
        var pixel = Int(source[at]) | Int(source[at + 1]) << 8
        if size == 4 { pixel |= Int(source[at + 2]) << 16 | Int(source[at + 3]) << 24 }
        target[x * bands + band] = channel.value(pixel)
      }
    }
  }

  /// Decodes runs; pixels that are skipped have the first colour, as in Windows.
  ///
  /// - Returns: whether the runs stay within the picture and end where they should.
  private func fillRuns(
    _ pixels: inout [UInt8], _ data: UnsafeRawBufferPointer, _ isCancelled: () -> Bool
  ) -> Bool {
    let table = table
    let size = compression == .run24 ? 3 : 1
    if size == 1, table[0] | table[1] | table[2] != 0 {
      for at in Swift.stride(from: 0, to: pixels.count, by: 3) {
        (pixels[at], pixels[at + 1], pixels[at + 2]) = (table[0], table[1], table[2])
      }
    }
    var (x, y, at, isSound) = (0, 0, 0, true)
    func put(_ color: (UInt8, UInt8, UInt8)) {
      guard x < width, y < height else {
        isSound = false
        return
      }
      let target = ((isTopDown ? y : height - 1 - y) * width + x) * 3
      (pixels[target], pixels[target + 1], pixels[target + 2]) = color
      x += 1
    }
    /// The colour of the value at an offset; with four bits, of its first or second half.
    func color(_ offset: Int, second: Bool) -> (UInt8, UInt8, UInt8) {
      if size == 3 { return (data[offset + 2], data[offset + 1], data[offset]) }
      let value = Int(data[offset])
      let index = compression == .run8 ? value : second ? value & 15 : value >> 4
      return (table[index * 3], table[index * 3 + 1], table[index * 3 + 2])
    }
    var steps = 0
    while at + 1 < data.count {
      steps += 1
      if steps % 4096 == 0, isCancelled() { return true }
      let (count, code) = (Int(data[at]), Int(data[at + 1]))
      if count > 0 {
        guard at + size < data.count else { return false }
        for index in 0..<count { put(color(at + 1, second: index % 2 == 1)) }
        at += 1 + size
        continue
      }
      at += 2
      switch code {
      case 0: (x, y) = (0, y + 1)
      case 1: return isSound
      case 2:
        guard at + 1 < data.count else { return false }
        (x, y) = (x + Int(data[at]), y + Int(data[at + 1]))
        at += 2
      default:
        let length = compression == .run4 ? (code + 1) / 2 : code * size
        guard at + length <= data.count else { return false }
        for index in 0..<code {
          put(
            color(at + (compression == .run4 ? index / 2 : index * size), second: index % 2 == 1))
        }
        at += (length + 1) / 2 * 2
      }
      if y > height { return false }
    }
    // The mark of the end is often left out.
    return isSound && (y >= height || (y == height - 1 && x >= width))
  }
}
