import PictureDecoding

/// Pixels of OS/2's compression “Huffman 1D”, which is that of fax machines.
///
/// A run of white pixels has the first colour, a black one the second. libtiff, through MagickCore,
/// decodes the rows as those of a TIFF made around them. Sources: ITU-T T.4, section 4.1; OS/2 2.0's
/// description of BITMAPINFOHEADER2; TIFF 6.0, section 11.
extension BitmapFile {
  /// Decodes the rows, which each begin with a mark, into red, green and blue.
  ///
  /// - Throws: `DecoderError` of code `undecodable` if most of the rows are missing, `tooLarge` beyond
  ///   MagickCore's limits, and as `MagickPicture.read` does.
  func decodeHuffman(
    _ data: UnsafeRawBufferPointer, isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedPicture {
    if let problem = MagickLibrary.problem(width: width, height: height) {
      throw DecoderError(.tooLarge, problem)
    }
    let data = UnsafeRawBufferPointer(rebasing: data.prefix(mostHuffmanBytes))
    let marks = rowMarks(in: data, isCancelled: isCancelled)
    if isCancelled() { throw DecoderError(.cancelled, "The job was cancelled") }
    // Keeps a small file from asking for much memory.
    guard marks.count >= max(1, height / 8), data.count >= leastHuffmanBytes / 8 else {
      throw Self.invalid("it ends before most of its pixels")
    }
    let tiff = fax(data, isReversed: marks.isReversed)
    let result = tiff.withUnsafeBytes {
      bytes -> Result<(grey: [UInt8], complaint: String?), DecoderError> in
      do throws(DecoderError) {
        let picture = try MagickPicture.read(
          bytes, as: .tiff, madeFrom: "BMP", headerOnly: false, isCancelled: isCancelled)
        guard picture.width == width, picture.height == height else {
          throw Self.invalid("libtiff finds another size")
        }
        return .success((try picture.pixels(bands: 1), picture.complaint))
      } catch {
        return .failure(error)
      }
    }
    let (grey, complaint) = try result.get()
    let table = table
    let pixels = [UInt8](unsafeUninitializedCapacity: grey.count * 3) { out, count in
      for line in 0..<height {
        let source = line * width
        let target = (isTopDown ? line : height - 1 - line) * width
        for x in 0..<width {
          let index = grey[source + x] < 128 ? 1 : 0
          for band in 0..<3 { out[(target + x) * 3 + band] = table[index * 3 + band] }
        }
      }
      count = grey.count * 3
    }
    var picture = DecodedPicture(.pixels(pixels, width: width, height: height, bands: 3))
    if marks.count < height || complaint != nil {
      picture.damage = "the file ends too early or its pixels are damaged"
    }
    return picture
  }

  /// The bytes of all rows if each is one run: a mark of 12 bits, and 12 for 2,560 pixels.
  private var leastHuffmanBytes: Int { height * (12 + width / 2560 * 12) / 8 }

  /// More bytes than rows need: a white and a black pixel take nine bits, and marks can be preceded by zeros.
  private var mostHuffmanBytes: Int { height * (width + 32) }

  /// Counts the marks of rows, which are eleven zeros or more and a one, until there are enough.
  ///
  /// Some programs begin with the lowest bit of a byte. In the wrong order hardly any mark is found.
  private func rowMarks(
    in data: UnsafeRawBufferPointer, isCancelled: () -> Bool
  ) -> (count: Int, isReversed: Bool) {
    // Marks, and zeros since the last one, by the highest and by the lowest bit first.
    var (high, low) = ((marks: 0, zeros: 0), (marks: 0, zeros: 0))
    for (index, byte) in data.enumerated() {
      if index % (1 << 20) == 0, isCancelled() { break }
      if byte == 0 {
        high.zeros += 8
        low.zeros += 8
        continue
      }
      if high.zeros + byte.leadingZeroBitCount >= 11 { high.marks += 1 }
      if low.zeros + byte.trailingZeroBitCount >= 11 { low.marks += 1 }
      high.zeros = byte.trailingZeroBitCount
      low.zeros = byte.leadingZeroBitCount
      if max(high.marks, low.marks) >= height { break }
    }
    return low.marks > high.marks ? (low.marks, true) : (high.marks, false)
  }

  /// A TIFF of one strip with the rows.
  private func fax(_ data: UnsafeRawBufferPointer, isReversed: Bool) -> [UInt8] {
    let start = 0x0111
    let tags = [
      (0x0100, width), (0x0101, height),
      (0x0102, 1),  // bits a sample
      (0x0103, 3),  // compression: T.4, in one dimension as no T4Options say otherwise
      (0x0106, 0),  // zero is white
      (0x010A, isReversed ? 2 : 1),  // order of the bits in a byte
      (start, 0),  // of the strip; set below
      (0x0115, 1),  // samples a pixel
      (0x0116, height),  // rows in the strip
      (0x0117, data.count),
    ]
    let headLength = 8 + 2 + tags.count * 12 + 4
    func little(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
    var bytes: [UInt8] = [0x49, 0x49, 42, 0] + little(8, 4) + little(tags.count, 2)
    for (tag, value) in tags {
      // One number of four bytes each.
      bytes += little(tag, 2) + little(4, 2) + little(1, 4)
      bytes += little(tag == start ? headLength : value, 4)
    }
    return bytes + little(0, 4) + data
  }
}
