package import Vips

/// Pictures for tests: made on the spot, the same every time, with corners that can be told apart.
package enum Pictures {
  /// The colours of the corners as displayed: top left, top right, bottom left, bottom right.
  package static let corners: [[UInt8]] = [
    [200, 40, 40], [40, 180, 60], [50, 70, 200], [220, 200, 60],
  ]

  /// Makes pixels whose quarters have the colours of `corners`, with a slope and a grain upon them.
  ///
  /// - Returns: three bytes a pixel, row by row.
  package static func pixels(width: Int, height: Int, grain: Int = 12) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(width * height * 3)
    var state: UInt32 = 20_240_229
    for y in 0..<height {
      for x in 0..<width {
        let corner = corners[(y < height / 2 ? 0 : 2) + (x < width / 2 ? 0 : 1)]
        // A linear congruential generator (Numerical Recipes): the same grain every time.
        state = state &* 1_664_525 &+ 1_013_904_223
        let noise = grain == 0 ? 0 : Int(state >> 24) % grain - grain / 2
        let slope = (x * 16 / width) + (y * 16 / height) - 16
        for value in corner { bytes.append(UInt8(clamping: Int(value) + slope + noise)) }
      }
    }
    return bytes
  }

  /// Makes a picture in memory.
  package static func picture(
    width: Int = 640, height: Int = 480, grain: Int = 12
  ) throws -> Picture {
    try .pixels(
      pixels(width: width, height: height, grain: grain), width: width, height: height, bands: 3)
  }

  /// Makes a picture of one colour, of 1 to 4 bands.
  package static func plain(_ color: [UInt8], width: Int = 64, height: Int = 64) throws -> Picture {
    let bytes = (0..<(width * height)).flatMap { _ in color }
    return try .pixels(bytes, width: width, height: height, bands: color.count)
  }

  /// Stores an upright picture the way a camera held in one of eight ways would.
  ///
  /// Written from EXIF's own definition, which says where the first stored row
  /// and the first stored column are in the picture as displayed.
  ///
  /// - Parameters:
  ///   - upright: three bytes a pixel as displayed.
  ///   - width: of the picture as displayed.
  ///   - height: of the picture as displayed.
  ///   - orientation: 1 to 8.
  package static func store(
    _ upright: [UInt8], width: Int, height: Int, orientation: Int
  ) -> (bytes: [UInt8], width: Int, height: Int) {
    let swaps = (5...8).contains(orientation)
    let (storedWidth, storedHeight) = swaps ? (height, width) : (width, height)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(upright.count)
    for row in 0..<storedHeight {
      for column in 0..<storedWidth {
        let (x, y): (Int, Int) =
          switch orientation {
          case 2: (width - 1 - column, row)  // row 0 at the top, column 0 on the right
          case 3: (width - 1 - column, height - 1 - row)  // bottom, right
          case 4: (column, height - 1 - row)  // bottom, left
          case 5: (row, column)  // left, top
          case 6: (width - 1 - row, column)  // right, top
          case 7: (width - 1 - row, height - 1 - column)  // right, bottom
          case 8: (row, height - 1 - column)  // left, bottom
          default: (column, row)
          }
        bytes += upright[((y * width + x) * 3)..<((y * width + x) * 3 + 3)]
      }
    }
    return (bytes, storedWidth, storedHeight)
  }

  /// The first part of a file.
  package static func truncated(_ bytes: [UInt8], to fraction: Double = 0.5) -> [UInt8] {
    Array(bytes.prefix(Int(Double(bytes.count) * fraction)))
  }
}
