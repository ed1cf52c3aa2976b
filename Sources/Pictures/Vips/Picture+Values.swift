internal import CVips
package import Containers

/// Conversions of values that are not unsigned integers of 8 or 16 bits.
extension Picture {
  /// Maps signed and 32-bit integers to unsigned ones of 8 or 16 bits: the least that the format allows
  /// to 0, and the greatest to white.
  package func unsignedIntegers() throws(VipsError) -> Picture {
    let format = vips_image_get_format(pointer)
    guard let range = Self.ranges[format.rawValue] else { return self }
    let isByte = format == VIPS_FORMAT_CHAR
    return try scaled(from: range, to: isByte ? VIPS_FORMAT_UCHAR : VIPS_FORMAT_USHORT)
      .reinterpreted(isByte ? space : space.deep)
  }

  private static let ranges: [VipsBandFormat.RawValue: ClosedRange<Double>] = [
    VIPS_FORMAT_CHAR.rawValue: -128...127,
    VIPS_FORMAT_SHORT.rawValue: -32768...32767,
    VIPS_FORMAT_INT.rawValue: -2_147_483_648...2_147_483_647,
    VIPS_FORMAT_UINT.rawValue: 0...4_294_967_295,
  ]

  /// Multiplies integers, which keep their format.
  func scaled(by factor: Double) throws(VipsError) -> Picture {
    try applying("The picture's values can't be converted") {
      pipeline_vips_linear(pointer, $0, factor, 0.5)
    }.cut(to: vips_image_get_format(pointer))
  }

  /// Maps floating-point values from 0 to 1 to 16 bits; the embedded profile then applies to these.
  package func fractionsAsIntegers() throws(VipsError) -> Picture {
    try scaled(from: 0...1, to: VIPS_FORMAT_USHORT).reinterpreted(bands < 3 ? .grey16 : .srgb16)
  }

  /// Stretches values of less than 8 bits, which are the upper bits of bytes, to the whole range.
  package func stretched(fromBits bits: Int) throws(VipsError) -> Picture {
    let greatest = 256 - 1 << (8 - bits)
    return try scaled(from: 0...Double(greatest), to: VIPS_FORMAT_UCHAR)
  }

  /// Labels values as linear light, in which 1 is white; grey becomes three bands of colour, and its
  /// alpha goes to 255, as libvips has it in linear light.
  package func linearLight() throws(VipsError) -> Picture {
    var colors = self
    if bands < 3 {
      let grey = try extractingBands(0..<1)
      colors = try grey.joined(with: grey).joined(with: grey)
    }
    if bands == 2 {
      let alpha = try extractingBands(1..<2)
      colors = try colors.joined(
        with: alpha.applying("The picture's alpha can't be converted") {
          pipeline_vips_linear(alpha.pointer, $0, 255, 0)
        })
    }
    return try colors.applying("The picture's values can't be converted") {
      pipeline_vips_reinterpret(colors.pointer, $0, VIPS_INTERPRETATION_scRGB)
    }
  }

  /// Divides linear light by its alpha, with which it is multiplied.
  package func unassociated() throws(VipsError) -> Picture {
    // libvips has alpha from 0 to 255 in linear light, too.
    try applying("The picture's alpha can't be undone") {
      pipeline_vips_unpremultiply(pointer, $0, 255)
    }
  }

  /// The greatest of floating-point values, of all bands; computes all pixels.
  ///
  /// - Parameter isCancelled: called every few rows.
  /// - Throws: `VipsError` of code `cancelled` if `isCancelled` returns `true`.
  package func greatestFraction(isCancelled: () -> Bool) throws(VipsError) -> Float {
    var greatest = -Float.infinity
    try forEachRow(isCancelled: isCancelled) { _, row in
      for value in UnsafeRawBufferPointer(row).bindMemory(to: Float.self) where value > greatest {
        greatest = value
      }
    }
    return greatest
  }

  /// Replaces indices of some bits, which are the upper bits of bytes, by the colours of a palette.
  package func colored(
    by palette: JPEG2000Structure.Palette, bits: Int
  ) throws(VipsError) -> Picture {
    let last = palette.colors.count - 1
    let row = (0..<256).flatMap { palette.colors[min($0 >> (8 - bits), last)] }
    let table = try Picture.pixels(row, width: 256, height: 1, bands: palette.colors[0].count)
    return try applying("The picture's palette can't be applied") {
      pipeline_vips_look_up(pointer, $0, table.pointer)
    }.reinterpreted(table.space)
  }

  private func scaled(
    from range: ClosedRange<Double>, to format: VipsBandFormat
  ) throws(VipsError) -> Picture {
    let white = format == VIPS_FORMAT_UCHAR ? 255.0 : 65535
    let factor = white / (range.upperBound - range.lowerBound)
    return try applying("The picture's values can't be converted") {
      pipeline_vips_linear(pointer, $0, factor, 0.5 - range.lowerBound * factor)
    }.cut(to: format)
  }

  /// Makes floating-point values integers: without what is behind the point, and within the range.
  private func cut(to format: VipsBandFormat) throws(VipsError) -> Picture {
    try applying("The picture's values can't be converted") {
      pipeline_vips_cast(pointer, $0, format)
    }
  }
}

extension Picture.Space {
  /// The same space in 16 bits.
  fileprivate var deep: Picture.Space {
    switch self {
    case .grey: .grey16
    case .srgb: .srgb16
    case .srgb16, .grey16, .cmyk, .other: self
    }
  }
}
