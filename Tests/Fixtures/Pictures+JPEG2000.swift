import Vips

extension Pictures {
  /// A codestream whose header describes its components in another way.
  ///
  /// Source: ISO/IEC 15444-1, annex A.5.1.
  ///
  /// - Parameters:
  ///   - depth: bits of a value less one, and 128 more if values are signed.
  ///   - sampling: the horizontal and the vertical distance of each component's values.
  package static func redescribed(
    _ codestream: [UInt8], depth: UInt8? = nil, sampling: [(UInt8, UInt8)]? = nil
  ) -> [UInt8] {
    var bytes = codestream
    for component in 0..<Int(bytes[41]) {
      let at = 42 + component * 3
      if let depth { bytes[at] = depth }
      if let sampling { (bytes[at + 1], bytes[at + 2]) = sampling[component] }
    }
    return bytes
  }

  /// A JPEG 2000 file whose pixels are indices of a palette.
  ///
  /// Source: ISO/IEC 15444-1, annex I.5.3.
  package static func paletteJP2(
    width: Int, height: Int, palette: [[UInt8]], _ index: (_ x: Int, _ y: Int) -> UInt8
  ) throws -> [UInt8] {
    func big(_ value: Int, _ count: Int) -> [UInt8] { TIFFTags.number(value, count).reversed() }
    let indices = (0..<height).flatMap { y in (0..<width).map { x in index(x, y) } }
    let plain = try file(
      .pixels(indices, width: width, height: height, bands: 1), ".jp2[lossless]")
    let columns = palette[0].count
    let header =
      box("ihdr", big(height, 4) + big(width, 4) + [0, 1, 7, 7, 0, 0])
      + box("colr", [1, 0, 0] + big(16, 4))
      + box(
        "pclr",
        big(palette.count, 2) + [UInt8(columns)] + [UInt8](repeating: 7, count: columns)
          + palette.flatMap { $0 })
      + box("cmap", (0..<columns).flatMap { [0, 0, 1, UInt8($0)] })
    return box("jP  ", [0x0D, 0x0A, 0x87, 0x0A]) + box("ftyp", Array("jp2 \0\0\0\0jp2 ".utf8))
      + box("jp2h", header) + box("jp2c", codestream(in: plain))
  }

  /// A JPEG 2000 file that says something else of its colours.
  ///
  /// - Parameters:
  ///   - content: that of the box; source: ISO/IEC 15444-1, annex I.5.3.3.
  ///   - channels: what each channel is for, and of which colour; source: annex I.5.3.6.
  package static func withColors(
    _ content: [UInt8], channels: [(purpose: Int, color: Int)] = [], in file: [UInt8]
  ) -> [UInt8] {
    func number(_ at: Int) -> Int { file[at..<(at + 4)].reduce(0) { $0 << 8 | Int($1) } }
    func start(_ type: String) -> Int {
      (file.indices.first { file[$0...].starts(with: Array(type.utf8)) } ?? 4) - 4
    }
    let (header, colors) = (start("jp2h"), start("colr"))
    let entries = channels.enumerated().flatMap { index, channel in
      big(index, 2) + big(channel.purpose, 2) + big(channel.color, 2)
    }
    let definition = channels.isEmpty ? [] : box("cdef", big(channels.count, 2) + entries)
    let inside =
      Array(file[(header + 8)..<colors]) + box("colr", content) + definition
      + file[(colors + number(colors))..<(header + number(header))]
    return Array(file[..<header]) + box("jp2h", inside) + file[(header + number(header))...]
  }
}
