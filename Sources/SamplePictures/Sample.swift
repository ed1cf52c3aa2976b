import Vips

struct Sample {
  let name: String
  let bytes: [UInt8]

  /// Creates the pictures that `make run` puts into an empty inbox.
  static func few() throws(VipsError) -> [Sample] {
    [
      Sample(name: "landscape.jpg", bytes: try landscape()),
      Sample(name: "portrait.jpg", bytes: try portrait()),
      Sample(name: "transparent.png", bytes: try transparent()),
      Sample(name: "grey.jpg", bytes: try grey()),
    ]
  }

  /// Creates one picture of eight megapixels with the grain of a photograph.
  static func photograph(_ number: Int) throws(VipsError) -> Sample {
    let (width, height) = (3456, 2304)
    let pixels = Scene(seed: number, grain: 24).pixels(width: width, height: height)
    let picture = try Picture.pixels(pixels, width: width, height: height, bands: 3)
    return Sample(
      name: "photograph-\(number).jpg",
      bytes: try dated(picture, orientation: 1, day: number).encoded(as: ".jpg[Q=92]"))
  }

  private static func landscape() throws(VipsError) -> [UInt8] {
    let pixels = Scene(seed: 1, grain: 8).pixels(width: 1800, height: 1200)
    let picture = try Picture.pixels(pixels, width: 1800, height: 1200, bands: 3)
    return try dated(picture, orientation: 1, day: 1).encoded(as: ".jpg[Q=88]")
  }

  /// An upright picture that is stored rotated, as phones do.
  private static func portrait() throws(VipsError) -> [UInt8] {
    let (width, height) = (1200, 1600)
    let upright = Scene(seed: 2, grain: 8).pixels(width: width, height: height)
    var stored: [UInt8] = []
    stored.reserveCapacity(upright.count)
    // Orientation 6: the first stored row is the right side, the first column the top.
    for row in 0..<width {
      for column in 0..<height {
        let at = (column * width + width - 1 - row) * 3
        stored += upright[at..<(at + 3)]
      }
    }
    let picture = try Picture.pixels(stored, width: height, height: width, bands: 3)
    return try dated(picture, orientation: 6, day: 2).encoded(as: ".jpg[Q=88]")
  }

  /// A disc that fades to full transparency at its rim.
  private static func transparent() throws(VipsError) -> [UInt8] {
    let size = 800
    let scene = Scene(seed: 3, grain: 0).pixels(width: size, height: size)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size * size * 4)
    for y in 0..<size {
      for x in 0..<size {
        let (dx, dy) = (x - size / 2, y - size / 2)
        let distance = Double(dx * dx + dy * dy) / Double(size * size / 4)
        let at = (y * size + x) * 3
        bytes += scene[at..<(at + 3)]
        bytes.append(UInt8(max(0, min(255, (1 - distance) * 510))))
      }
    }
    return try Picture.pixels(bytes, width: size, height: size, bands: 4).encoded(as: ".png")
  }

  private static func grey() throws(VipsError) -> [UInt8] {
    let (width, height) = (1280, 960)
    let scene = Scene(seed: 4, grain: 16).pixels(width: width, height: height)
    let bytes = (0..<(width * height)).map { scene[$0 * 3 + 1] }
    return try Picture.pixels(bytes, width: width, height: height, bands: 1)
      .encoded(as: ".jpg[Q=88]")
  }

  /// Adds a camera's metadata: orientation and date.
  private static func dated(
    _ picture: Picture, orientation: Int, day: Int
  ) throws(VipsError) -> Picture {
    try picture.editingMetadata { editor in
      editor.set("orientation", orientation)
      let two = day < 10 ? "0\(day)" : "\(day)"
      editor.set("exif-ifd2-DateTimeOriginal", "2024:05:\(two) 07:08:09")
    }
  }
}
