/// Where the values of each component lie in the picture.
///
/// Components are sampled on a common grid, each at distances of its own. The picture has a pixel for each
/// value of the component with the least distance. Source: ISO/IEC 15444-1, annex B.2.
struct SampleLayout {
  struct Component {
    /// Bits of a value, with the sign.
    let bits: Int
    let isSigned: Bool
    /// The horizontal and vertical distance between values, in units of the grid.
    let dx: Int
    let dy: Int
  }

  /// The area of the grid that is the picture: from the first coordinates up to, without, the last.
  let area: (x0: Int, y0: Int, x1: Int, y1: Int)
  let components: [Component]

  /// The distance between pixels, in both directions, so that they are square.
  var step: Int { components.map { min($0.dx, $0.dy) }.min() ?? 1 }

  func width(_ reduction: Int) -> Int {
    Self.positions(area.x0, area.x1, step, reduction).count
  }

  func height(_ reduction: Int) -> Int {
    Self.positions(area.y0, area.y1, step, reduction).count
  }

  /// How many values a component has.
  ///
  /// - Parameter reduction: how often the picture is halved.
  func size(of component: Component, _ reduction: Int) -> (width: Int, height: Int) {
    (
      Self.positions(area.x0, area.x1, component.dx, reduction).count,
      Self.positions(area.y0, area.y1, component.dy, reduction).count
    )
  }

  /// The column of a component's value for each column of pixels.
  func columns(of component: Component, _ reduction: Int) -> [Int] {
    Self.indices(area.x0, area.x1, step: step, distance: component.dx, reduction)
  }

  /// The row of a component's value for each row of pixels.
  func rows(of component: Component, _ reduction: Int) -> [Int] {
    Self.indices(area.y0, area.y1, step: step, distance: component.dy, reduction)
  }

  private static func indices(
    _ start: Int, _ end: Int, step: Int, distance: Int, _ reduction: Int
  ) -> [Int] {
    let values = positions(start, end, distance, reduction)
    // Where the first pixels lie before the first value, or the last behind the last one.
    return positions(start, end, step, reduction).map { position in
      min(max(position * step / distance, values.lowerBound), values.upperBound - 1)
        - values.lowerBound
    }
  }

  /// The multiples of a distance within an area, after halvings. Source: equation B-15.
  private static func positions(
    _ start: Int, _ end: Int, _ distance: Int, _ reduction: Int
  ) -> Range<Int> {
    func position(_ coordinate: Int) -> Int {
      let whole = (coordinate + distance - 1) / distance
      return (whole + 1 << reduction - 1) >> reduction
    }
    let first = position(start)
    return first..<max(first, position(end))
  }
}
