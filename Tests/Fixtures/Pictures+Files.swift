package import Vips

extension Pictures {
  /// A JPEG as a phone would write it, upright once its orientation is applied.
  ///
  /// - Parameters:
  ///   - width: as displayed.
  ///   - height: as displayed.
  ///   - exif: what its EXIF block says; `nil` for none.
  ///   - progressive: whether its pixels come in several passes.
  package static func jpeg(
    width: Int = 640, height: Int = 480, exif: PicturesExif? = PicturesExif(),
    progressive: Bool = false, quality: Int = 90
  ) throws -> [UInt8] {
    let orientation = exif?.orientation ?? 1
    let stored = store(
      pixels(width: width, height: height), width: width, height: height, orientation: orientation)
    let picture = try Picture.pixels(
      stored.bytes, width: stored.width, height: stored.height, bands: 3)
    let plain = try picture.encoded(
      as: ".jpg[Q=\(quality),strip\(progressive ? ",interlace" : "")]")
    return exif.map { insert($0.bytes, into: plain) } ?? plain
  }

  /// A JPEG, PNG or other file of any picture; the suffix may have options of libvips.
  package static func file(_ picture: Picture, _ suffix: String) throws -> [UInt8] {
    try picture.encoded(as: suffix)
  }

  /// A picture whose colours are given by an embedded profile: `p3`, `srgb` or `cmyk`.
  ///
  /// - Returns: a file that shows the same colours as `picture` where profiles are heeded.
  package static func profiled(
    _ picture: Picture, _ profile: String, as suffix: String
  ) throws -> [UInt8] {
    try picture.colorManaged(to: profile, assuming: "srgb").encoded(as: suffix)
  }

  /// A PNG of 16 bits a value.
  package static func sixteenBitPNG(width: Int = 320, height: Int = 240) throws -> [UInt8] {
    try picture(width: width, height: height).converted(to: .srgb16).encoded(as: ".png")
  }

  /// A PNG with alpha: opaque `color` on the left half, transparent black on the right.
  package static func alphaPNG(
    _ color: [UInt8], width: Int = 320, height: Int = 240
  ) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for _ in 0..<height {
      for x in 0..<width { bytes += x < width / 2 ? color + [255] : [0, 0, 0, 0] }
    }
    return try Picture.pixels(bytes, width: width, height: height, bands: 4).encoded(as: ".png")
  }

  /// A file of several frames or pages, each of one colour: GIF, WebP or TIFF.
  package static func frames(
    _ colors: [[UInt8]], width: Int = 120, height: Int = 80, as suffix: String
  ) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for color in colors {
      for _ in 0..<(width * height) { bytes += color }
    }
    let strip = try Picture.pixels(
      bytes, width: width, height: height * colors.count, bands: colors[0].count)
    return try strip.editingMetadata { editor in
      editor.set("page-height", height)
      editor.set("delay", colors.map { _ in 100 })
    }.encoded(as: suffix)
  }

  /// A HEIC file whose pixels are stored turned.
  ///
  /// - Parameters:
  ///   - orientation: how the pixels are stored.
  ///   - exif: whether an EXIF block names that orientation.
  ///   - container: whether the container turns the picture (`irot`, for orientations 1, 3, 6, 8).
  package static func heic(
    width: Int = 320, height: Int = 240, orientation: Int, exif: Bool, container: Bool
  ) throws -> [UInt8] {
    let stored = store(
      pixels(width: width, height: height, grain: 0), width: width, height: height,
      orientation: orientation)
    let picture = try Picture.pixels(
      stored.bytes, width: stored.width, height: stored.height, bands: 3)
    let block = PicturesExif(orientation: exif ? orientation : nil).bytes
    let bytes = try picture.editingMetadata { editor in
      editor.set(Picture.Field.exif, block)
      if exif { editor.set("orientation", orientation) }
    }.encoded(as: ".heic[Q=80]")
    return container ? turningContainer(bytes, orientation: orientation) : bytes
  }

  /// Replaces the property that gives the bit depth by one that turns the picture.
  ///
  /// Both are associated with the picture; a decoder needs only the second.
  /// Source: ISO/IEC 23008-12, section 6.5.10: `irot` counts quarter turns anti-clockwise.
  private static func turningContainer(_ bytes: [UInt8], orientation: Int) -> [UInt8] {
    let turns: [Int: UInt8] = [1: 0, 3: 2, 6: 3, 8: 1]
    let name = Array("pixi".utf8)
    guard
      let at = bytes.indices.first(where: { bytes[$0...].starts(with: name) }), at >= 4,
      let turn = turns[orientation]
    else { return bytes }
    var result = bytes
    let size = bytes[(at - 4)..<at].reduce(0) { $0 << 8 | Int($1) }
    result.replaceSubrange(
      at..<(at - 4 + size),
      with: Array("irot".utf8) + [turn] + [UInt8](repeating: 0, count: size - 9))
    return result
  }

  /// An uncompressed TIFF of luminance and chroma in strips of 8 rows: red on the left, blue on the
  /// right.
  ///
  /// Source: TIFF 6.0, section 21, “Ordering of Component Samples”.
  ///
  /// - Parameters:
  ///   - orientation: its tag.
  ///   - sampling: how many values of luminance share one of chroma, each way: 1 or 2.
  ///   - width: as stored, in pixels.
  ///   - height: as stored, in pixels.
  package static func subsampledTIFF(
    orientation: Int, sampling: Int, width: Int, height: Int
  ) -> [UInt8] {
    let red: [UInt8] = [76, 85, 255]
    let blue: [UInt8] = [29, 255, 107]
    let rows = 8
    let strips = height / rows
    var pixels: [UInt8] = []
    for _ in 0..<(height / sampling) {
      for x in 0..<(width / sampling) {
        let color = x < width / sampling / 2 ? red : blue
        pixels += [UInt8](repeating: color[0], count: sampling * sampling) + color[1...]
      }
    }
    var tags = TIFFTags()
    tags.long(256, [width])
    tags.long(257, [height])
    tags.short(258, [8, 8, 8])
    tags.short(259, [1])
    tags.short(262, [6])
    tags.short(274, [orientation])
    tags.short(277, [3])
    tags.long(278, [rows])
    tags.short(284, [1])
    tags.short(530, [sampling, sampling])
    return tiff(tags, (273, 279), of: pixels, count: strips)
  }

  /// An uncompressed, tiled TIFF of 64 × 32 pixels with separate planes of red, green and blue: red on
  /// the left, blue on the right.
  ///
  /// Source: TIFF 6.0, section 15, “Tiled Images”.
  ///
  /// - Parameters:
  ///   - side: of the tiles that it claims to have, in pixels; only those of 32 are there.
  ///   - bits: of each value that it claims to have.
  ///   - hasAlpha: whether a fourth plane of opaque alpha follows.
  package static func tiledPlanesTIFF(
    side: Int = 32, bits: Int = 8, hasAlpha: Bool = false
  ) -> [UInt8] {
    // The tiles of red, then those of green and blue.
    let tiles: [UInt8] = [255, 0, 0, 0, 0, 255] + (hasAlpha ? [255, 255] : [])
    let samples = tiles.count / 2
    var tags = TIFFTags()
    tags.long(256, [64])
    tags.long(257, [32])
    tags.short(258, [Int](repeating: bits, count: samples))
    tags.short(259, [1])
    tags.short(262, [2])
    tags.short(277, [samples])
    tags.short(284, [2])
    tags.long(322, [side])
    tags.long(323, [side])
    if hasAlpha { tags.short(338, [2]) }
    // libtiff 4.5 refuses tiles whose size is not a multiple of 1,024 bytes.
    let pixels = tiles.flatMap { [UInt8](repeating: $0, count: 32 * 32 * bits / 8) }
    return tiff(tags, (324, 325), of: pixels, count: tiles.count)
  }

  /// An uncompressed TIFF of one strip, grey or RGB.
  ///
  /// - Parameters:
  ///   - format: of the values, as in the tag SampleFormat: 1 unsigned, 2 signed, 3 floating-point.
  ///   - value: returns the bits of a value.
  package static func valuesTIFF(
    width: Int, height: Int, bands: Int, bits: Int, format: Int,
    _ value: (_ x: Int, _ y: Int, _ band: Int) -> Int
  ) -> [UInt8] {
    var pixels: [UInt8] = []
    for y in 0..<height {
      for x in 0..<width {
        for band in 0..<bands { pixels += TIFFTags.number(value(x, y, band), bits / 8) }
      }
    }
    var tags = TIFFTags()
    tags.long(256, [width])
    tags.long(257, [height])
    tags.short(258, [Int](repeating: bits, count: bands))
    tags.short(259, [1])
    tags.short(262, [bands == 3 ? 2 : 1])
    tags.short(277, [bands])
    tags.long(278, [height])
    tags.short(339, [Int](repeating: format, count: bands))
    return tiff(tags, (273, 279), of: pixels, count: 1)
  }

  /// A TIFF of one page whose pixels are divided into parts of the same length.
  ///
  /// - Parameter lists: the tags of the parts' offsets and lengths.
  private static func tiff(
    _ tags: TIFFTags, _ lists: (offsets: Int, lengths: Int), of pixels: [UInt8], count: Int
  ) -> [UInt8] {
    let length = pixels.count / count
    let directory = tags.with(lists.offsets, (0..<count).map { 8 + $0 * length })
      .with(lists.lengths, [Int](repeating: length, count: count))
    let end = 8 + pixels.count
    return Array("II*\0".utf8) + TIFFTags.number(end, 4) + pixels + directory.bytes(at: end)
  }

  /// Puts an EXIF block right behind the start of a JPEG file.
  package static func insert(_ exif: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
    let length = exif.count + 2
    return Array(jpeg[..<2]) + [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 255)] + exif
      + jpeg[2...]
  }
}
