import Fixtures
import PipelineModel

@testable import Query

/// Makes filters of every kind, and counts the kinds.
struct RandomFilter {
  var random: SeededRandom
  /// How many of each kind were made.
  private(set) var counts: [String: Int] = [:]

  /// All kinds.
  static let kinds =
    [
      "all", "any", "not", "contains", "equals", "includes", "begins", "pattern", "number", "time",
      "words", "prefix",
      "near",
    ]
    + Field.all.map { "known \($0.name)" } + Flag.allCases.map { "flag \($0)" }
    + TextField.allCases.map { "text \($0)" } + NumberField.allCases.map { "number \($0)" }
    + TimeField.allCases.map { "time \($0)" }

  init(random: SeededRandom) { self.random = random }

  mutating func next(depth: Int = 3) -> Filter {
    if depth > 0 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1:
        count("all")
        return .all(filters(depth))
      case 2, 3:
        count("any")
        return .any(filters(depth))
      case 4:
        count("not")
        return .not(next(depth: depth - 1))
      default: break
      }
    }
    return leaf()
  }

  private mutating func count(_ kind: String) { counts[kind, default: 0] += 1 }

  private mutating func filters(_ depth: Int) -> [Filter] {
    (0..<Int.random(in: 0..<4, using: &random)).map { _ in next(depth: depth - 1) }
  }

  private mutating func pick<Value>(_ values: [Value]) -> Value {
    values[Int.random(in: 0..<values.count, using: &random)]
  }

  private mutating func leaf() -> Filter {
    // The more kinds there are of one, the more often it is made.
    switch Int.random(in: 0..<15, using: &random) {
    case 0...3:
      let field = pick(Field.all)
      count("known \(field.name)")
      return .known(field)
    case 4...6: return text()
    case 7, 8: return number()
    case 9, 10: return time()
    case 11, 12:
      let flag = pick(Flag.allCases)
      count("flag \(flag)")
      return .flag(flag)
    case 13: return .words((0..<Int.random(in: 0..<3, using: &random)).map { _ in word() })
    default:
      count("near")
      let place = pick(DescribedLibrary.places)
      return .near(
        Area(
          latitude: place.0 + pick([0, 0.1, -3]), longitude: place.1 + pick([0, 0.1, -3]),
          radius: pick([0, 1, 20_000, 400_000, 9e6, 3e7])))
    }
  }

  /// A text that assets may have, or a part of one.
  private mutating func sample() -> String {
    let names = DescribedLibrary.names.map { String(decoding: $0, as: UTF8.self) }
    let texts =
      names + names.map { "2024/" + $0 } + DescribedLibrary.texts + DescribedLibrary.types
      + AssetKind.allCases.map(\.rawValue)
      + [
        "sidecar", "rawAndJPEG", "primary", "orphan", "ready", "failed", "done", "\(Samples.id(3))",
        Samples.digest(4).hex, "/k\u{e4}rt", "zzz",
      ]
    let text = pick(texts)
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return String(text.prefix(Int.random(in: 0...text.count, using: &random)))
    case 1: return String(text.suffix(Int.random(in: 0...text.count, using: &random)))
    default: return text
    }
  }

  private mutating func text() -> Filter {
    let field = pick(TextField.allCases)
    count("text \(field)")
    let sample = sample()
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      count("includes")
      return .text(field, .includes(TextFolding.compose(sample)))
    case 1:
      count("begins")
      return .text(field, .begins(TextFolding.compose(sample)))
    case 2:
      count("contains")
      return .text(field, .contains(TextFolding.fold(sample)))
    case 3:
      count("equals")
      return .text(field, .equals(TextFolding.compose(sample)))
    default:
      count("pattern")
      var parts = TextFolding.fold(sample).unicodeScalars.map { PatternPart.character($0) }
      for _ in 0..<Int.random(in: 0..<3, using: &random) {
        let place = Int.random(in: 0...parts.count, using: &random)
        parts.replaceSubrange(
          place..<min(place + pick([0, 1, 4]), parts.count), with: [pick([.any, .one])])
      }
      return .text(field, .pattern(parts))
    }
  }

  private mutating func number() -> Filter {
    let field = pick(NumberField.allCases)
    count("number")
    count("number \(field)")
    func bound(_ value: Double, _ isIncluded: Bool) -> NumberRange.Bound? {
      .init(value: value, isIncluded: isIncluded)
    }
    let values = DescribedLibrary.numbers + [.nan, .infinity, -.infinity, 1_001, 48.137]
    return .number(
      field,
      NumberRange(
        lower: pick([nil, bound(pick(values), pick([true, false]))]),
        upper: pick([nil, bound(pick(values), pick([true, false]))])))
  }

  private mutating func time() -> Filter {
    let field = pick(TimeField.allCases)
    count("time")
    count("time \(field)")
    let values: [Int64?] = [
      nil, 0, -1, .min, .max, 1_715_990_399_500_000, 1_715_904_000_000_000, 1_600_000_000_000_000,
      Samples.start.microseconds + 50_000_000,
    ]
    return .time(field, TimeRange(lower: pick(values), upper: pick(values)))
  }

  private mutating func word() -> SearchWord {
    let isPrefix = pick([true, false])
    count(isPrefix ? "prefix" : "words")
    let words = TextFolding.words(TextFolding.fold(sample())).map { String($0) }
    let word = words.isEmpty ? "a" : pick(words)
    return SearchWord(
      text: isPrefix ? String(word.prefix(Int.random(in: 0...word.count, using: &random))) : word,
      isPrefix: isPrefix)
  }
}
