import Glibc

extension Filter {
  /// Whether an asset meets the condition.
  package func holds(for asset: AssetValues) -> Bool {
    switch self {
    case .all(let filters): filters.allSatisfy { $0.holds(for: asset) }
    case .any(let filters): filters.contains { $0.holds(for: asset) }
    case .not(let filter): !filter.holds(for: asset)
    case .known(let field): asset.has(field)
    case .text(let field, let match): asset.texts[field]?.contains(where: match.holds) ?? false
    case .number(let field, let range): asset.numbers[field].map(range.contains) ?? false
    case .time(let field, let range): asset.times[field].map(range.contains) ?? false
    case .flag(let flag): asset.flags.contains(flag)
    case .words(let words): asset.contains(words)
    case .near(let area): area.contains(asset.numbers[.latitude], asset.numbers[.longitude])
    }
  }
}

extension TextMatch {
  package func holds(for text: String) -> Bool {
    switch self {
    case .contains(let part): TextFolding.fold(text).utf8.firstRange(of: part.utf8) != nil
    case .equals(let whole): TextFolding.compose(text).utf8.elementsEqual(whole.utf8)
    case .includes(let part): TextFolding.compose(text).utf8.firstRange(of: part.utf8) != nil
    case .begins(let part): TextFolding.compose(text).utf8.starts(with: part.utf8)
    case .pattern(let pattern):
      Self.matches(Array(TextFolding.fold(text).unicodeScalars), pattern)
    }
  }

  /// Whether a text matches a pattern, in time proportional to their product.
  private static func matches(_ text: [Unicode.Scalar], _ pattern: [PatternPart]) -> Bool {
    var (place, next) = (0, 0)
    /// Where the last `*` stands, and what it covers so far.
    var star: (next: Int, place: Int)?
    while place < text.count {
      let part = next < pattern.count ? pattern[next] : nil
      if part == .any {
        star = (next, place)
        next += 1
      } else if part == .one || part == .character(text[place]) {
        next += 1
        place += 1
      } else if let last = star {
        star = (last.next, last.place + 1)
        (next, place) = (last.next + 1, last.place + 1)
      } else {
        return false
      }
    }
    return pattern[next...].allSatisfy { $0 == .any }
  }
}

extension AssetValues {
  /// The fields in which words are looked for.
  static let searched: [TextField] = [
    .name, .path, .title, .caption, .tag, .camera, .lens, .album,
  ]

  /// The words of these fields, folded.
  package var words: [Substring] {
    Self.searched.flatMap { texts[$0, default: []] }
      .flatMap { TextFolding.words(TextFolding.fold($0)) }
  }

  /// Whether each of some words is among those of the fields.
  fileprivate func contains(_ words: [SearchWord]) -> Bool {
    let present = self.words
    return words.allSatisfy { word in
      present.contains {
        word.isPrefix
          ? $0.utf8.starts(with: word.text.utf8) : $0.utf8.elementsEqual(word.text.utf8)
      }
    }
  }
}

extension Area {
  /// The mean radius of Earth in metres. Source: IUGG, R1.
  private static let earth = 6_371_008.8

  /// The latitudes between which the circle lies, and a little more.
  package var latitudes: ClosedRange<Double> {
    let half = radius / Self.earth * 180 / .pi + 1e-6
    return latitude - half...latitude + half
  }

  package func contains(_ latitude: Double?, _ longitude: Double?) -> Bool {
    guard let latitude, let longitude else { return false }
    return distance(latitude, longitude) <= radius
  }

  /// The distance of a place from the centre in metres, along the great circle (haversine).
  private func distance(_ latitude: Double, _ longitude: Double) -> Double {
    let radian = Double.pi / 180
    let (rise, turn) = (
      sin((latitude - self.latitude) * radian / 2), sin((longitude - self.longitude) * radian / 2)
    )
    let part = rise * rise + cos(latitude * radian) * cos(self.latitude * radian) * turn * turn
    return 2 * Self.earth * asin(min(1, part.squareRoot()))
  }
}
