/// What assets are grouped and counted by.
package enum Grouping: Hashable, Sendable {
  /// By the beginning of when they were taken: 10 characters of a date for a day, 7 for a month.
  case date(name: String, characters: Int)
  /// By the folder that they were imported from, below the source.
  case folder
  case field(Field)

  package static let day = Grouping.date(name: "day", characters: 10)
  package static let month = Grouping.date(name: "month", characters: 7)
  package static let year = Grouping.date(name: "year", characters: 4)

  private static let dates = [day, month, year]

  package static let names = dates.map(\.name) + ["folder"] + Field.all.map(\.name)

  package init?(_ name: String) {
    if let date = Self.dates.first(where: { $0.name == name }) {
      self = date
    } else if name == "folder" {
      self = .folder
    } else if let field = Field.named(name) {
      self = .field(field)
    } else {
      return nil
    }
  }

  /// Whether it groups by values from a stage with the plugin `metadata`.
  package var isByMetadata: Bool {
    if case .field(let field) = self { field.isMetadata } else { false }
  }

  package var name: String {
    switch self {
    case .date(let name, _): name
    case .folder: "folder"
    case .field(let field): field.name
    }
  }

  /// The groups that an asset belongs to; `nil` for those without a value.
  package func keys(of asset: AssetValues) -> [String?] {
    switch self {
    case .date(_, let characters):
      return [asset.text(of: .time(.taken)).map { String($0.prefix(characters)) }]
    case .folder:
      return [asset.texts[.path]?.first.flatMap { Self.folder(of: $0) }]
    case .field(.text(let field)):
      let values = asset.texts[field] ?? []
      return values.isEmpty ? [nil] : values
    case .field(let field):
      return [asset.text(of: field)]
    }
  }

  /// The folder in a path, without empty parts; `nil` if there is none.
  package static func folder(of path: String) -> String? {
    // By bytes: a slash and a combining mark behind it are one character.
    let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .dropLast().filter { !$0.isEmpty }
    return parts.isEmpty ? nil : parts.map { String(Substring($0)) }.joined(separator: "/")
  }

  /// Sorts groups: numbers by size, texts without case and accents, those without a value last.
  package func sorted(_ counts: [String?: Int]) -> [(key: String?, count: Int)] {
    let isNumber = if case .field(.number) = self { true } else { false }
    let groups = counts.map { key, count in
      Group(
        key: key, count: count, number: isNumber ? key.flatMap { Double($0) } ?? 0 : 0,
        folded: key.map { TextFolding.fold($0) } ?? "")
    }
    return groups.sorted { left, right in
      guard let a = left.key, let b = right.key else { return left.key != nil && right.key == nil }
      return (left.number, left.folded, a) < (right.number, right.folded, b)
    }.map { ($0.key, $0.count) }
  }

  private struct Group {
    let key: String?
    let count: Int
    let number: Double
    let folded: String
  }
}
