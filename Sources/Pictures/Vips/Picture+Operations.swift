internal import CVips

extension Picture {
  /// The kernel with which a picture is downscaled.
  package enum Kernel: Sendable { case linear, lanczos3 }

  /// Resizes the picture to exactly this size.
  ///
  /// Beyond twice the final size, a box filter runs first.
  package func resized(
    width newWidth: Int, height newHeight: Int, kernel: Kernel = .lanczos3
  ) throws(VipsError) -> Picture {
    if newWidth == width && newHeight == height { return self }
    let horizontal = Double(newWidth) / Double(width)
    let vertical = Double(newHeight) / Double(height)
    let kernel =
      switch kernel {
      case .linear: VIPS_KERNEL_LINEAR
      case .lanczos3: VIPS_KERNEL_LANCZOS3
      }
    return try applying("The picture can't be made smaller") {
      pipeline_vips_resize(pointer, $0, horizontal, vertical, kernel, 2)
    }
  }

  /// Returns a part of the picture, which must lie within it; in pixels.
  package func cropped(
    x: Int, y: Int, width partWidth: Int, height partHeight: Int
  ) throws(VipsError) -> Picture {
    if x == 0, y == 0, partWidth == width, partHeight == height { return self }
    return try applying("The region can't be cut out") {
      pipeline_vips_extract(
        pointer, $0, Int32(clamping: x), Int32(clamping: y), Int32(clamping: partWidth),
        Int32(clamping: partHeight))
    }
  }

  /// Replaces each block of `horizontal` by `vertical` pixels with its average.
  package func averaged(horizontal: Int, vertical: Int) throws(VipsError) -> Picture {
    if horizontal == 1 && vertical == 1 { return self }
    return try applying("The picture can't be made smaller") {
      pipeline_vips_shrink(pointer, $0, Double(horizontal), Double(vertical))
    }
  }

  /// Puts the picture on a white background and drops its alpha.
  package func flattened() throws(VipsError) -> Picture {
    try applying("The picture's alpha can't be flattened") {
      // Zero ink shows the paper.
      pipeline_vips_flatten(pointer, $0, space == .cmyk ? 0 : white, white)
    }
  }

  /// Multiplies colours by alpha, so that transparent pixels don't affect averages.
  package func premultiplied() throws(VipsError) -> Picture {
    try applying("The picture's alpha can't be applied") {
      pipeline_vips_premultiply(pointer, $0, white)
    }
  }

  /// Undoes `premultiplied` for a picture whose full alpha is `white`, in 8 or 16 bits.
  package func unpremultiplied(white: Double) throws(VipsError) -> Picture {
    let plain = try applying("The picture's alpha can't be undone") {
      pipeline_vips_unpremultiply(pointer, $0, white)
    }
    return try plain.applying("The picture's values can't be converted") {
      pipeline_vips_cast(plain.pointer, $0, white > 255 ? VIPS_FORMAT_USHORT : VIPS_FORMAT_UCHAR)
    }
  }

  /// Converts to another colour space with libvips' own formulas.
  package func converted(to space: Space) throws(VipsError) -> Picture {
    try applying("The picture's colours can't be converted") {
      pipeline_vips_colourspace(pointer, $0, space.interpretation)
    }
  }

  /// Relabels the colour space without changing values.
  package func reinterpreted(_ space: Space) throws(VipsError) -> Picture {
    try applying("The picture can't be copied") {
      pipeline_vips_reinterpret(pointer, $0, space.interpretation)
    }
  }

  /// Converts from the embedded profile to a built-in one, in 8 bits.
  ///
  /// Uses relative colorimetric intent with black point compensation, because most printed black
  /// reflects some light; perceptual intent if the profile has a table for no other.
  ///
  /// - Parameters:
  ///   - output: `srgb`, `p3` or `cmyk`.
  ///   - fallback: the profile to assume if the embedded one is missing or doesn't fit.
  package func colorManaged(
    to output: String, assuming fallback: String
  ) throws(VipsError) -> Picture {
    // The transform leaves alpha as it is: in 8 bits, 16-bit alpha would be cut off.
    let isDeep = hasAlpha && bitsPerValue == 16
    let profile = blob(Field.profile).flatMap(ColorProfile.init)
    let intent = profile?.lacksRelativeTable == true ? VIPS_INTENT_PERCEPTUAL : VIPS_INTENT_RELATIVE
    let managed = try applying("The picture's colours can't be converted by its profile") {
      pipeline_vips_icc_transform(pointer, $0, output, fallback, intent, isDeep ? 16 : 8)
    }
    return isDeep ? try managed.converted(to: .srgb) : managed
  }

  /// Maps the values of the first band to 8 bits, from the least to the greatest, by logarithms.
  ///
  /// The pixels must be in memory, because they are read twice.
  package func stretched() throws(VipsError) -> Picture {
    let first = try extractingBands(0..<1)
    return try first.applying("The picture's values can't be converted") {
      pipeline_vips_stretch(first.pointer, $0, 1)
    }.reinterpreted(.grey)
  }

  /// Puts the picture into one of another size, which is black elsewhere.
  ///
  /// - Parameter alpha: the value of the alpha there.
  func placed(
    x: Int, y: Int, width: Int, height: Int, alpha: Double
  ) throws(VipsError) -> Picture {
    try applying("The picture can't be put into its frame") {
      pipeline_vips_embed(
        pointer, $0, Int32(clamping: x), Int32(clamping: y), Int32(clamping: width),
        Int32(clamping: height), alpha)
    }
  }

  /// Returns some of the bands, whose values keep their meaning.
  package func extractingBands(_ range: Range<Int>) throws(VipsError) -> Picture {
    try applying("The picture's values can't be read") {
      pipeline_vips_extract_bands(pointer, $0, Int32(range.lowerBound), Int32(range.count))
    }
  }

  /// Adds the bands of a picture of the same size; the result has no colour space.
  package func joined(with other: Picture) throws(VipsError) -> Picture {
    try applying("The picture's values can't be read") {
      pipeline_vips_join_bands(pointer, other.pointer, $0)
    }.reinterpreted(.other)
  }

  /// Makes each value of at least `value` 255, and each other 0.
  package func thresholded(at value: Double) throws(VipsError) -> Picture {
    try applying("The picture's values can't be compared") {
      pipeline_vips_at_least(pointer, $0, value)
    }
  }

  /// Applies an EXIF orientation, which makes the picture upright.
  ///
  /// The pixels must be in memory, because rotating reads them out of order.
  ///
  /// - Parameter orientation: 1 to 8; other values change nothing.
  package func upright(from orientation: Int) throws(VipsError) -> Picture {
    switch orientation {
    case 2: try flipped(VIPS_DIRECTION_HORIZONTAL)
    case 3: try rotated(VIPS_ANGLE_D180)
    case 4: try flipped(VIPS_DIRECTION_VERTICAL)
    case 5: try rotated(VIPS_ANGLE_D90).flipped(VIPS_DIRECTION_HORIZONTAL)
    case 6: try rotated(VIPS_ANGLE_D90)
    case 7: try rotated(VIPS_ANGLE_D270).flipped(VIPS_DIRECTION_HORIZONTAL)
    case 8: try rotated(VIPS_ANGLE_D270)
    default: self
    }
  }

  private func rotated(_ angle: VipsAngle) throws(VipsError) -> Picture {
    try applying("The picture can't be turned") { pipeline_vips_rotate(pointer, $0, angle) }
  }

  private func flipped(_ direction: VipsDirection) throws(VipsError) -> Picture {
    try applying("The picture can't be mirrored") { pipeline_vips_flip(pointer, $0, direction) }
  }
}

extension Picture.Space {
  var interpretation: VipsInterpretation {
    switch self {
    case .srgb: VIPS_INTERPRETATION_sRGB
    case .srgb16: VIPS_INTERPRETATION_RGB16
    case .grey: VIPS_INTERPRETATION_B_W
    case .grey16: VIPS_INTERPRETATION_GREY16
    case .cmyk: VIPS_INTERPRETATION_CMYK
    case .other: VIPS_INTERPRETATION_MULTIBAND
    }
  }
}
