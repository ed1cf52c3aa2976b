import Glibc

/// The colour that most pixels are close to.
///
/// Pixels are counted in cubes of Oklab, as much as they are opaque. The colour is the mean of the
/// pixels in the cube that has, together with its 26 neighbours, the most of them. Unlike the mean of
/// all, it is a colour that can be seen in the picture.
struct DominantColor {
  /// Red, green and blue.
  let values: [UInt8]

  /// The side of a cube; three of them span a colour and its shades.
  private static let side = 0.05
  /// Cubes along each axis, with one more on both ends that stays empty.
  private static let cubes = 24

  private struct Cube {
    var weight = 0.0
    var red = 0.0
    var green = 0.0
    var blue = 0.0

    static func += (sum: inout Cube, other: Cube) {
      sum.weight += other.weight
      sum.red += other.red
      sum.green += other.green
      sum.blue += other.blue
    }
  }

  /// Finds the colour; returns `nil` if all pixels are transparent.
  init?(_ swatch: Swatch) {
    var cubes = [Cube](repeating: Cube(), count: Self.cubes * Self.cubes * Self.cubes)
    var used: Set<Int> = []
    for index in swatch.alpha.indices where swatch.alpha[index] > 0 {
      let (red, green, blue) = (swatch.red[index], swatch.green[index], swatch.blue[index])
      let weight = swatch.alpha[index]
      let cube = Self.cube(red, green, blue)
      used.insert(cube)
      cubes[cube] += Cube(
        weight: weight, red: red * weight, green: green * weight, blue: blue * weight)
    }
    var best = Cube()
    // In order, because the first of several equal ones counts.
    for cube in used.sorted() {
      var sum = Cube()
      for offset in Self.neighbors { sum += cubes[cube + offset] }
      if sum.weight > best.weight { best = sum }
    }
    guard best.weight > 0 else { return nil }
    values = [best.red, best.green, best.blue].map {
      UInt8(min(255, max(0, ($0 / best.weight * 255).rounded())))
    }
  }

  /// Six hexadecimal digits after a number sign.
  var text: String {
    "#" + values.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  private static let neighbors: [Int] = {
    let steps = -1...1
    return steps.flatMap { l in
      steps.flatMap { a in steps.map { b in (l * cubes + a) * cubes + b } }
    }
  }()

  /// The index of the cube with a colour of sRGB.
  ///
  /// Source: B. Ottosson, A perceptual color space for image processing, 2020.
  private static func cube(_ red: Double, _ green: Double, _ blue: Double) -> Int {
    let (r, g, b) = (linear(red), linear(green), linear(blue))
    let l = cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b)
    let m = cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b)
    let s = cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
    // Lightness from 0 to 1, then from green to red and from blue to yellow, both around 0.
    let axes = [
      0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
      1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s + 0.5,
      0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s + 0.5,
    ]
    return axes.reduce(0) { index, value in
      index * cubes + min(cubes - 2, max(1, Int(value / side) + 1))
    }
  }

  /// Source: IEC 61966-2-1.
  private static func linear(_ value: Double) -> Double {
    value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
  }
}
