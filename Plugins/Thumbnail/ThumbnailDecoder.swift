import Containers
import Vips

/// Decodes a file to a small, upright picture in memory with the requested colours.
struct ThumbnailDecoder {
  let options: ThumbnailOptions
  /// The part of the stored picture to show; `nil` for all of it.
  let region: PictureRegion?
  /// The size of the upright original in pixels, if the picture is a thumbnail of it.
  let shape: (width: Int, height: Int)?
  let resamplers: PlaneResamplers
  let isCancelled: @Sendable () -> Bool

  /// Decodes the picture, or its preview, to one size.
  ///
  /// - Parameter isFirst: whether nothing was decoded yet.
  func decode(
    _ opened: OpenedPicture, preview: Picture?, to size: ThumbnailOptions.Size, isFirst: Bool
  ) throws(VipsError) -> SmallPicture {
    let whole = wholeSize(opened)
    let target = Self.fit(
      region?.width ?? whole.width, region?.height ?? whole.height, size,
      isTurned: options.transform && opened.orientation > 4)
    let plain: Picture
    if let preview {
      plain = preview
    } else if let region {
      // Not shrunk by the decoder: a region's edges rarely fall between its blocks.
      plain = try plainValues(
        load(opened, to: (opened.header.width, opened.header.height), isFirst: isFirst), of: opened
      ).cropped(x: region.x, y: region.y, width: region.width, height: region.height)
    } else {
      plain = try plainValues(load(opened, to: target, isFirst: isFirst), of: opened)
    }
    return try finish(plain, opened, to: target)
  }

  /// Decodes a frame of an animated picture to one size.
  ///
  /// - Parameter frames: all frames, one below the other.
  func decode(
    frame index: Int, of frames: Picture, _ opened: OpenedPicture, longest: Int
  ) throws(VipsError) -> Picture {
    let (width, height) = (opened.header.width, opened.header.height)
    let part = region ?? PictureRegion(x: 0, y: 0, width: width, height: height)
    let frame = try frames.cropped(
      x: part.x, y: index * height + part.y, width: part.width, height: part.height)
    return try finish(
      plainValues(frame, of: opened), opened, to: Self.fit(part.width, part.height, longest)
    ).picture
  }

  private func finish(
    _ plain: Picture, _ opened: OpenedPicture, to target: (width: Int, height: Int)
  ) throws(VipsError) -> SmallPicture {
    var small = try shrink(plain, to: target)
    small.picture = try manageColors(small.picture, for: options.colorSpace)
    if options.transform { small = try small.upright(from: opened.orientation) }
    return try small.rendered(isCancelled: isCancelled)
  }

  /// Makes a smaller size from a larger one.
  func reduce(
    _ larger: SmallPicture, _ opened: OpenedPicture, to size: ThumbnailOptions.Size
  ) throws(VipsError) -> SmallPicture {
    let whole = wholeSize(opened)
    var width = region?.width ?? whole.width
    var height = region?.height ?? whole.height
    if options.transform, opened.orientation > 4 { swap(&width, &height) }
    let target = Self.fit(width, height, size, isTurned: false)
    var small = try shrink(larger.picture, to: target)
    small.alpha = try larger.alpha.map { alpha throws(VipsError) in
      try resize(alpha, to: target)
    }
    return try small.rendered(isCancelled: isCancelled)
  }

  private func wholeSize(_ opened: OpenedPicture) -> (width: Int, height: Int) {
    shape ?? (opened.header.width, opened.header.height)
  }

  /// Makes the picture that placeholders are computed from, which is upright and in sRGB in any case.
  func swatch(_ larger: SmallPicture, _ opened: OpenedPicture) throws(VipsError) -> Swatch {
    let longest = min(Swatch.side, max(larger.picture.width, larger.picture.height))
    var small = try reduce(
      larger, opened, to: ThumbnailOptions.Size(name: "swatch", maxPixelSize: longest))
    small.picture = try manageColors(small.picture, for: .srgb)
    // With `transform` it is upright already.
    if !options.transform { small = try small.upright(from: opened.orientation) }
    return try Swatch(small)
  }

  /// The size that a picture of some shape gets.
  ///
  /// - Parameter isTurned: whether the picture is still to be turned by a quarter.
  private static func fit(
    _ width: Int, _ height: Int, _ size: ThumbnailOptions.Size, isTurned: Bool
  ) -> (width: Int, height: Int) {
    guard let exact = size.finish.exact else { return fit(width, height, size.maxPixelSize) }
    return isTurned ? (exact.height, exact.width) : (exact.width, exact.height)
  }

  /// The size with sides of at most `longest` and the same shape; never larger than the picture.
  static func fit(_ width: Int, _ height: Int, _ longest: Int) -> (width: Int, height: Int) {
    let longer = max(width, height)
    guard longer > longest else { return (width, height) }
    let scale = Double(longest) / Double(longer)
    return (
      max(1, Int((Double(width) * scale).rounded())),
      max(1, Int((Double(height) * scale).rounded()))
    )
  }

  /// Lets the decoder shrink as far as allowed.
  private func load(
    _ opened: OpenedPicture, to target: (width: Int, height: Int), isFirst: Bool
  ) throws(VipsError) -> Picture {
    let ratio = min(
      Double(opened.header.width) / Double(target.width),
      Double(opened.header.height) / Double(target.height))
    guard let source = opened.source, let loader = opened.loader else { return opened.header }
    if loader == .jpeg {
      return try source.decodeJPEG(opened.header, shrink: jpegFactor(ratio))
    }
    // Averages of a palette's indices are other colours.
    let hasPalette = opened.jpeg2000?.palette != nil
    let factor = hasPalette ? 1 : shrinkFactor(loader, ratio, resolutions: opened.header.pages)
    // The header's pixels can be read once; `exact` decodes for each size.
    if factor == 1 && options.scaling == .fast && isFirst { return opened.header }
    if factor == 1 { return try opened.reopened() }
    return try Picture.load(source, as: loader, shrink: factor)
  }

  /// How far a decoder shrinks a picture by itself, if it is to be made `ratio` times smaller.
  private func shrinkFactor(
    _ loader: PictureLoader, _ ratio: Double, resolutions: Int
  ) -> Double {
    switch loader {
    // libwebp averages to any size while decoding, as in libvips' own thumbnailer.
    case .webp: return max(1, ratio)
    // Each resolution has half the size of the one before, and is shifted by up to half a pixel of its
    // own; `exact` leaves a factor of two to the resampler.
    case .jp2k:
      let usable = options.scaling == .exact ? ratio / 2 : ratio
      return Double(1 << max(0, min(resolutions - 1, Int(max(1, usable).exponent))))
    default: return 1
    }
  }

  /// libjpeg shrinks by 2, 4 or 8 in the frequency domain, which sharpens a little.
  private func jpegFactor(_ ratio: Double) -> Int {
    // `exact` leaves a factor of two to the resampler, as libvips does.
    let margin = options.scaling == .exact ? 2 : 1
    return [8, 4, 2].first { ratio >= Double($0 * margin) } ?? 1
  }

  /// Ensures integers of 8 or 16 bits and a known colour space.
  private func plainValues(
    _ picture: Picture, of opened: OpenedPicture
  ) throws(VipsError) -> Picture {
    // Counts of photons, which have no white.
    if opened.loader == .fits { return try picture.rendered(isCancelled: isCancelled).stretched() }
    // libvips takes them for values of sRGB from 0 to 255.
    if opened.isFloatMap { return try picture.linearLight().converted(to: .srgb) }
    if picture.isFloat { return try plainFractions(picture, of: opened) }
    if let structure = opened.jpeg2000 {
      let plain = try plainJPEG2000(picture, structure)
      guard let profile = opened.boxedProfile else { return plain }
      return try plain.editingMetadata { $0.set(Picture.Field.profile, profile) }
    }
    let integers = picture.space == .other ? picture : try picture.unsignedIntegers()
    if integers.isInteger && integers.space != .other { return integers }
    return try integers.converted(to: .srgb)
  }

  private func plainFractions(
    _ picture: Picture, of opened: OpenedPicture
  ) throws(VipsError) -> Picture {
    switch opened.loader {
    // Whatever libvips calls them, its values are coded as its profile says.
    case .jxl where opened.profile != nil: return try picture.fractionsAsIntegers()
    // Colours are multiplied with alpha by definition. Source: “Technical Introduction to OpenEXR”.
    case .exr: return try picture.unassociated().converted(to: .srgb)
    // libvips takes colours for linear light, but grey for values from 0 to 255, which some are.
    case .tiff where picture.space == .grey:
      let isLight = try opened.reopened().greatestFraction(isCancelled: isCancelled) <= 1
      return try (isLight ? picture.linearLight() : picture).converted(to: .srgb)
    default: return try picture.converted(to: .srgb)
    }
  }

  private func plainJPEG2000(
    _ picture: Picture, _ structure: JPEG2000Structure
  ) throws(VipsError) -> Picture {
    let bits = structure.components.first?.bits ?? 8
    if let palette = structure.palette { return try picture.colored(by: palette, bits: bits) }
    if picture.space == .other { return try picture.converted(to: .srgb) }
    let plain = try picture.unsignedIntegers()
    return bits < 8 ? try plain.stretched(fromBits: bits) : plain
  }

  /// Resizes the picture, with correct handling of alpha.
  private func shrink(
    _ picture: Picture, to target: (width: Int, height: Int)
  ) throws(VipsError) -> SmallPicture {
    guard picture.hasAlpha else { return SmallPicture(try resized(picture, to: target)) }
    if !keepsAlpha { return try shrinkFlattened(picture, to: target) }
    if picture.width == target.width && picture.height == target.height {
      return SmallPicture(try picture.rendered(isCancelled: isCancelled))
    }
    let space = picture.space
    let small = try resize(picture.premultiplied(), to: target)
    return SmallPicture(
      try small.unpremultiplied(white: picture.white).reinterpreted(space)
        .rendered(isCancelled: isCancelled))
  }

  /// Flattens the picture and resizes it together with its alpha, because pixels can be read only
  /// once.
  private func shrinkFlattened(
    _ picture: Picture, to target: (width: Int, height: Int)
  ) throws(VipsError) -> SmallPicture {
    let flat = try picture.flattened()
    let alpha = try picture.extractingBands((picture.bands - 1)..<picture.bands)
    let small = try resized(flat.joined(with: alpha), to: target)
    let grey: Picture.Space = picture.bitsPerValue == 16 ? .grey16 : .grey
    return SmallPicture(
      try small.extractingBands(0..<flat.bands).reinterpreted(flat.space),
      alpha: try eightBits(
        small.extractingBands(flat.bands..<(flat.bands + 1)).reinterpreted(grey)))
  }

  private func resized(
    _ picture: Picture, to target: (width: Int, height: Int)
  ) throws(VipsError) -> Picture {
    try resize(picture, to: target).rendered(isCancelled: isCancelled)
  }

  private func resize(
    _ picture: Picture, to target: (width: Int, height: Int)
  ) throws(VipsError) -> Picture {
    if picture.width == target.width && picture.height == target.height { return picture }
    if target.width > picture.width || target.height > picture.height {
      // Rows are read again and again.
      return try picture.rendered(isCancelled: isCancelled)
        .resized(width: target.width, height: target.height)
    }
    if options.scaling == .fast {
      let reduction = PlaneReduction(
        target: target, resamplers: resamplers, isCancelled: isCancelled)
      if let small = try reduction.reduce(picture) { return small }
    }
    // Lanczos: a cubic kernel saves a tenth of the time and costs 3 dB.
    return try picture.resized(width: target.width, height: target.height)
  }

  private var keepsAlpha: Bool { formats.contains { $0 != .jpeg } }

  private var formats: Set<ThumbnailOptions.Format> {
    Set(options.pictureSizes.map { $0.isAnimated ? .webp : $0.format ?? options.format })
  }

  /// Converts to 8 bits in a colour space.
  private func manageColors(
    _ picture: Picture, for colorSpace: ThumbnailOptions.ColorSpace
  ) throws(VipsError) -> Picture {
    let profile = picture.blob(Picture.Field.profile).flatMap(ColorProfile.init)
    let fallback = picture.space == .cmyk ? "cmyk" : "srgb"
    switch colorSpace {
    case .keep:
      // Only JPEG supports CMYK.
      if picture.space == .cmyk && formats == [.jpeg] { return try eightBits(picture) }
      if picture.space == .cmyk {
        return try picture.colorManaged(to: "srgb", assuming: fallback)
      }
      return try eightBits(picture)
    case .p3:
      if profile?.known == .p3 { return try eightBits(picture) }
      let colors = isGrey(picture) && profile == nil ? try picture.converted(to: .srgb) : picture
      return try colors.colorManaged(to: "p3", assuming: fallback)
    case .srgb:
      let needsProfile = profile != nil && profile?.known != .srgb
      if needsProfile || picture.space == .cmyk {
        return try picture.colorManaged(to: "srgb", assuming: fallback)
      }
      return try eightBits(picture)
    }
  }

  private func eightBits(_ picture: Picture) throws(VipsError) -> Picture {
    if picture.bitsPerValue == 8 { return picture }
    return try picture.converted(to: isGrey(picture) ? .grey : .srgb)
  }

  private func isGrey(_ picture: Picture) -> Bool {
    picture.space == .grey || picture.space == .grey16
  }
}
