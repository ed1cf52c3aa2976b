/// A condition on assets.
///
/// A value that an asset lacks meets no comparison, so `not` of a comparison holds without it.
package indirect enum Filter: Hashable, Sendable {
  /// All of them hold; without any, this always holds.
  case all([Filter])
  /// One of them holds; without any, this never holds.
  case any([Filter])
  case not(Filter)
  /// There is a value.
  case known(Field)
  case text(TextField, TextMatch)
  case number(NumberField, NumberRange)
  case time(TimeField, TimeRange)
  case flag(Flag)
  /// Each word is among those of name, path, title, caption, tags, albums, camera and lens.
  case words([SearchWord])
  case near(Area)

  /// A condition that always holds.
  package static let everything = Filter.all([])

  /// The conditions all of which must hold, however they are nested.
  package var conjuncts: [Filter] {
    if case .all(let filters) = self { filters.flatMap(\.conjuncts) } else { [self] }
  }

  /// Whether it asks for damaged assets.
  package var asksForDamage: Bool {
    switch self {
    case .all(let filters), .any(let filters): filters.contains(where: \.asksForDamage)
    case .not(let filter): filter.asksForDamage
    case .flag(let flag): flag == .damaged
    case .known, .text, .number, .time, .words, .near: false
    }
  }

  /// Whether it asks for values from a stage with the plugin `metadata`.
  package var asksForMetadata: Bool {
    switch self {
    case .all(let filters), .any(let filters): filters.contains(where: \.asksForMetadata)
    case .not(let filter): filter.asksForMetadata
    case .known(let field): field.isMetadata
    case .text(let field, _): Field.text(field).isMetadata
    case .number(let field, _): Field.number(field).isMetadata
    case .words, .near: true
    case .time, .flag: false
    }
  }

  /// Whether it looks for words, wherever they are.
  package var asksForWords: Bool {
    switch self {
    case .all(let filters), .any(let filters): filters.contains(where: \.asksForWords)
    case .not(let filter): filter.asksForWords
    case .words: true
    case .known, .text, .number, .time, .flag, .near: false
    }
  }
}

/// How a text is compared.
package enum TextMatch: Hashable, Sendable {
  /// It contains this, without case and accents.
  case contains(String)
  /// It is this, in NFC.
  case equals(String)
  /// It contains this, in NFC: case and accents count.
  case includes(String)
  /// It begins with this, in NFC.
  case begins(String)
  /// The whole text matches a pattern, without case and accents.
  case pattern([PatternPart])
}

/// A part of a pattern.
package enum PatternPart: Hashable, Sendable {
  /// A character (Unicode scalar) of a folded text.
  case character(Unicode.Scalar)
  /// `?`: any one character.
  case one
  /// `*`: any characters.
  case any
}

/// A range of numbers.
package struct NumberRange: Hashable, Sendable {
  package struct Bound: Hashable, Sendable {
    package var value: Double
    /// Whether the value itself belongs to the range.
    package var isIncluded: Bool

    package init(value: Double, isIncluded: Bool) {
      self.value = value
      self.isIncluded = isIncluded
    }
  }

  package var lower: Bound?
  package var upper: Bound?

  package init(lower: Bound? = nil, upper: Bound? = nil) {
    self.lower = lower
    self.upper = upper
  }

  package func contains(_ value: Double) -> Bool {
    if let lower, !(value > lower.value || lower.isIncluded && value == lower.value) {
      return false
    }
    if let upper, !(value < upper.value || upper.isIncluded && value == upper.value) {
      return false
    }
    return !value.isNaN
  }
}

/// A range of times in microseconds since 1970; for `taken` by the clock on the spot, as if it were
/// UTC.
package struct TimeRange: Hashable, Sendable {
  /// The first; `nil` for no bound.
  package var lower: Int64?
  /// The first after it; `nil` for no bound.
  package var upper: Int64?

  package init(lower: Int64? = nil, upper: Int64? = nil) {
    self.lower = lower
    self.upper = upper
  }

  package func contains(_ time: Int64) -> Bool {
    time >= lower ?? .min && (upper.map { time < $0 } ?? true)
  }
}

/// A word to look for, folded.
package struct SearchWord: Hashable, Sendable {
  package var text: String
  /// Whether it may be the beginning of a word.
  package var isPrefix: Bool
}

/// A circle on Earth.
package struct Area: Hashable, Sendable {
  /// Degrees, south negative.
  package var latitude: Double
  /// Degrees, west negative.
  package var longitude: Double
  /// Metres.
  package var radius: Double

  package init(latitude: Double, longitude: Double, radius: Double) {
    self.latitude = latitude
    self.longitude = longitude
    self.radius = radius
  }
}
