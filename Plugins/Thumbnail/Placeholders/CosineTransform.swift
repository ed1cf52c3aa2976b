import Glibc

/// The cosine transform (DCT-II) of a plane of values, up to a number of frequencies.
///
/// Normalized so that the first coefficient is the mean.
struct CosineTransform {
  /// Coefficients of values from 0 to 1 that should be zero are off by less than this.
  static let roundingError = 1e-9

  private let columns: Int
  private let coefficients: [Double]

  /// Transforms `width` × `height` values into `columns` × `rows` coefficients.
  init(_ plane: [Double], width: Int, height: Int, columns: Int, rows: Int) {
    self.columns = columns
    let horizontal = Self.waves(columns, samples: width)
    let vertical = Self.waves(rows, samples: height)
    var inRows = [Double](repeating: 0, count: columns * height)
    for y in 0..<height {
      for u in 0..<columns {
        var sum = 0.0
        for x in 0..<width { sum += plane[y * width + x] * horizontal[u * width + x] }
        inRows[y * columns + u] = sum
      }
    }
    var coefficients = [Double](repeating: 0, count: columns * rows)
    for v in 0..<rows {
      for u in 0..<columns {
        var sum = 0.0
        for y in 0..<height { sum += inRows[y * columns + u] * vertical[v * height + y] }
        coefficients[v * columns + u] = sum / Double(width * height)
      }
    }
    self.coefficients = coefficients
  }

  /// The coefficient of `u` half waves from left to right and `v` from top to bottom.
  subscript(u: Int, v: Int) -> Double { coefficients[v * columns + u] }

  private static func waves(_ count: Int, samples: Int) -> [Double] {
    (0..<count).flatMap { number in
      (0..<samples).map { cos(.pi / Double(samples) * Double(number) * (Double($0) + 0.5)) }
    }
  }
}
