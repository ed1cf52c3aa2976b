import Glibc

/// A painted landscape: sky, sun, ridges of hills, and a sensor's grain.
struct Scene {
  /// The scene's number; the same number makes the same picture.
  let seed: Int
  /// The noise amplitude: 0 for a painting, 24 for a photograph.
  let grain: Int

  private struct Ridge {
    let tops: [Double]
    let color: [Double]
  }

  /// Paints the scene.
  ///
  /// - Returns: three bytes per pixel, row by row.
  func pixels(width: Int, height: Int) -> [UInt8] {
    let ridges = (0..<4).map { ridge($0, width: width) }
    let sun = (x: 0.2 + 0.15 * Double(seed % 5), y: 0.18 + 0.04 * Double(seed % 3), radius: 0.06)
    var noise = UInt32(truncatingIfNeeded: seed &* 7919 &+ 20_240_229)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(width * height * 3)
    for row in 0..<height {
      let y = Double(row) / Double(height)
      for column in 0..<width {
        let x = Double(column) / Double(width)
        var color = sky(y)
        let distance = hypot((x - sun.x) * Double(width) / Double(height), y - sun.y)
        if distance < sun.radius {
          color = [255, 236, 170]
        } else if distance < 0.4 {
          let glow = (0.4 - distance) * 110
          color = [color[0] + glow, color[1] + glow * 0.8, color[2] + glow * 0.3]
        }
        for ridge in ridges where y > ridge.tops[column] {
          let depth = (y - ridge.tops[column]) * 60
          color = ridge.color.map { $0 + depth }
        }
        // A linear congruential generator (Numerical Recipes), so that the grain is reproducible.
        noise = noise &* 1_664_525 &+ 1_013_904_223
        let stray = grain == 0 ? 0 : Double(Int(noise >> 24) % grain - grain / 2)
        for value in color { bytes.append(UInt8(max(0, min(255, value + stray)))) }
      }
    }
    return bytes
  }

  private func sky(_ y: Double) -> [Double] {
    let warmth = Double(seed % 4) * 20
    return [90 + warmth + 120 * y, 140 + 70 * y, 215 - 40 * y]
  }

  /// A line of hills; higher numbers are nearer and darker.
  private func ridge(_ number: Int, width: Int) -> Ridge {
    let base = 0.5 + 0.11 * Double(number)
    let phase = Double(seed * 3 + number * 2)
    let tops = (0..<width).map { column -> Double in
      let x = Double(column) / Double(width)
      return base + 0.05 * sin(x * 5 + phase) + 0.02 * sin(x * 17 + phase * 2)
        + 0.004 * sin(x * 90 + phase)
    }
    let shade = 1 - 0.2 * Double(number)
    return Ridge(tops: tops, color: [95 * shade, 125 * shade, 120 * shade])
  }
}
