internal import CVips

extension Picture {
  /// How new pixels are computed from old ones when a picture is made smaller.
  package enum Kernel: Sendable { case linear, cubic, mitchell, lanczos2, lanczos3 }

  /// Makes the picture exactly this large.
  ///
  /// - Parameters:
  ///   - width: the new width in pixels.
  ///   - height: the new height in pixels.
  ///   - kernel: how pixels are weighted.
  ///   - gap: from how many times the final size on a plain average comes first; 0 for never.
  package func resized(
    width newWidth: Int, height newHeight: Int, kernel: Kernel = .lanczos3, gap: Double = 2
  ) throws(VipsError) -> Picture {
    if newWidth == width && newHeight == height { return self }
    let horizontal = Double(newWidth) / Double(width)
    let vertical = Double(newHeight) / Double(height)
    let kernel =
      switch kernel {
      case .linear: VIPS_KERNEL_LINEAR
      case .cubic: VIPS_KERNEL_CUBIC
      case .mitchell: VIPS_KERNEL_MITCHELL
      case .lanczos2: VIPS_KERNEL_LANCZOS2
      case .lanczos3: VIPS_KERNEL_LANCZOS3
      }
    return try applying("The picture can't be made smaller") {
      pipeline_vips_resize(pointer, $0, horizontal, vertical, kernel, gap)
    }
  }

  /// Makes each pixel the plain average of as many as `horizontal` by `vertical`.
  package func averaged(horizontal: Int, vertical: Int) throws(VipsError) -> Picture {
    if horizontal == 1 && vertical == 1 { return self }
    return try applying("The picture can't be made smaller") {
      pipeline_vips_shrink(pointer, $0, Double(horizontal), Double(vertical))
    }
  }

  /// Puts the picture on white and drops its alpha.
  package func flattened() throws(VipsError) -> Picture {
    try applying("The picture's alpha can't be flattened") {
      // Paper shows where there is no ink.
      pipeline_vips_flatten(pointer, $0, space == .cmyk ? 0 : white, white)
    }
  }

  /// Multiplies the colours by alpha, so that transparent pixels weigh nothing when averaged.
  package func premultiplied() throws(VipsError) -> Picture {
    try applying("The picture's alpha can't be applied") {
      pipeline_vips_premultiply(pointer, $0, white)
    }
  }

  /// Undoes `premultiplied`, for a picture whose full alpha is `white`, in 8 or 16 bits.
  package func unpremultiplied(white: Double) throws(VipsError) -> Picture {
    let plain = try applying("The picture's alpha can't be undone") {
      pipeline_vips_unpremultiply(pointer, $0, white)
    }
    return try plain.applying("The picture's values can't be converted") {
      pipeline_vips_cast(
        plain.pointer, $0, white > 255 ? VIPS_FORMAT_USHORT : VIPS_FORMAT_UCHAR)
    }
  }

  /// Converts to another meaning of the bands by libvips' own formulas.
  package func converted(to space: Space) throws(VipsError) -> Picture {
    try applying("The picture's colours can't be converted") {
      pipeline_vips_colourspace(pointer, $0, space.interpretation)
    }
  }

  /// Names the meaning of the bands anew, without touching a value.
  package func reinterpreted(_ space: Space) throws(VipsError) -> Picture {
    try applying("The picture can't be copied") {
      pipeline_vips_reinterpret(pointer, $0, space.interpretation)
    }
  }

  /// Converts from the embedded profile to a built-in one, in 8 bits.
  ///
  /// Relative to the media, with black made black: most paper has no ink that reflects nothing.
  ///
  /// - Parameters:
  ///   - output: `srgb`, `p3` or `cmyk`.
  ///   - fallback: what to assume where the embedded profile is missing or doesn't fit.
  package func colorManaged(
    to output: String, assuming fallback: String
  ) throws(VipsError) -> Picture {
    // What is no colour is not converted: of 16 bits of alpha all but the lowest would be cut off.
    let isDeep = hasAlpha && bitsPerValue == 16
    let managed = try applying("The picture's colours can't be converted by its profile") {
      pipeline_vips_icc_transform(pointer, $0, output, fallback, isDeep ? 16 : 8)
    }
    return isDeep ? try managed.converted(to: .srgb) : managed
  }

  /// Turns the picture as EXIF's orientation says, and so makes it upright.
  ///
  /// The pixels must be in memory, since turning reads them out of order.
  ///
  /// - Parameter orientation: 1 to 8; anything else leaves the picture as it is.
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
