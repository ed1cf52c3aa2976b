import Glibc
import PipelineModel
import Query

/// The paths of exported files below their destination, such as `{taken:yyyy}/{taken:MM}/{name}`.
package struct ExportLayout: Sendable {
  /// What a placeholder stands for.
  private enum Value: Sendable {
    /// The file's name, its name without extension, and the extension.
    case name, stem, suffix
    /// The path below the source, and the folders in it.
    case path, folder
    case field(Field)
    case time(TimeField, TimePattern)
  }

  private enum Part: Sendable {
    case text(String)
    case value(Value, fallback: String)
  }

  /// Placeholders besides the fields of a query, with what they stand for.
  package static let ownNames: [(name: String, summary: String)] = [
    ("name", "the file's name when it was imported"),
    ("stem", "the name without its extension"),
    ("extension", "the extension, without its dot"),
    ("path", "the path below the source, with its folders"),
    ("folder", "the folders of that path"),
  ]

  /// What stands for a missing value.
  private static let fallback = "unknown"

  private var parts: [Part] = []
  /// Whether it needs values from metadata.
  package private(set) var asksForMetadata = false

  /// Reads a layout.
  ///
  /// - Parameter text: folders and a file name with placeholders `{FIELD}`, `{FIELD:PATTERN}` for
  ///   times and `{FIELD|FALLBACK}`; `{{` and `}}` stand for brackets.
  /// - Throws: `ExportError` of code `layout`.
  package init(_ text: String) throws(ExportError) {
    var rest = Substring(text)
    var literal = ""
    while let character = rest.popFirst() {
      switch character {
      case "{" where rest.first == "{", "}" where rest.first == "}":
        literal.append(rest.removeFirst())
      case "{":
        guard let end = rest.firstIndex(of: "}") else {
          throw Self.problem(text, "“{” has no “}”; write “{{” for the character itself")
        }
        if !literal.isEmpty { parts.append(.text(literal)) }
        literal = ""
        parts.append(try Self.placeholder(rest[..<end], of: text))
        rest = rest[rest.index(after: end)...]
      case "}":
        throw Self.problem(text, "“}” has no “{”; write “}}” for the character itself")
      default:
        literal.append(character)
      }
    }
    if !literal.isEmpty { parts.append(.text(literal)) }
    asksForMetadata = parts.contains {
      if case .value(.field(let field), _) = $0 { field.isMetadata } else { false }
    }
    try check(text)
  }

  private func check(_ text: String) throws(ExportError) {
    if text.hasPrefix("/") {
      throw Self.problem(text, "it begins with “/”; --to names the folder to export to")
    }
    if text.isEmpty || text.hasSuffix("/") {
      throw Self.problem(text, "it ends without a file name; add for example {name}")
    }
    let folders = text.split(separator: "/", omittingEmptySubsequences: false)
    if folders.contains(where: { $0 == ".." }) {
      throw Self.problem(text, "“..” would leave the folder")
    }
  }

  private static func problem(_ layout: String, _ reason: String) -> ExportError {
    ExportError(.layout, "The layout \(quoted(layout)) can't be used: \(reason).")
  }

  private static func placeholder(
    _ inside: Substring, of layout: String
  ) throws(ExportError) -> Part {
    let halves = inside.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
    let pieces = halves[0].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(pieces[0])
    let pattern = pieces.count > 1 ? pieces[1] : nil
    let fallback = halves.count > 1 ? String(halves[1]) : Self.fallback
    if case .time(let field)? = Field.named(name) {
      let pattern = try TimePattern(pattern ?? "yyyy-MM-dd") { (reason) throws(ExportError) in
        throw problem(layout, reason)
      }
      return .value(.time(field, pattern), fallback: fallback)
    }
    guard pattern == nil else {
      throw problem(layout, "only times take a pattern, as in {taken:yyyy}, not “\(name)”")
    }
    switch name {
    case "name": return .value(.name, fallback: fallback)
    case "stem": return .value(.stem, fallback: fallback)
    case "extension": return .value(.suffix, fallback: fallback)
    case "path": return .value(.path, fallback: fallback)
    case "folder": return .value(.folder, fallback: fallback)
    default:
      guard let field = Field.named(name) else {
        let known = ownNames.map(\.name) + Field.all.map(\.name)
        let meant = NearestName.find(name, among: known).map { "; did you mean {\($0)}?" } ?? ""
        throw problem(layout, "there is no field \(quoted(name))\(meant)")
      }
      return .value(.field(field), fallback: fallback)
    }
  }

  // MARK: Expanding

  private static let ownFiles = [ExportFolder.staging, ChecksumList.name].map {
    $0.description.lowercased()
  }

  /// The path of an asset's file.
  ///
  /// - Parameters:
  ///   - name: the file's name when it was imported.
  ///   - path: its path below the source.
  ///   - suffix: the extension of a rendition, instead of that of the name.
  /// - Returns: a relative path without `.` and `..`, each part of which fits a file name.
  func path(
    for values: AssetValues, name: BytePath, path: BytePath, suffix: String? = nil
  ) -> BytePath {
    let name = FileName(name, suffix: suffix)
    var bytes: [UInt8] = []
    for part in parts {
      switch part {
      case .text(let text): bytes += Array(text.utf8)
      case .value(let value, let fallback):
        let expanded = Self.expand(value, values, path, name)
        bytes += expanded.isEmpty ? Array(fallback.utf8) : expanded
      }
    }
    let parts = BytePath(bytes: bytes).components.filter { $0 != "." }.map(\.asFileName)
    guard let first = parts.first else { return "_" }
    // What an export keeps for itself; a file system may not distinguish case.
    let isOwn = Self.ownFiles.contains(first.description.lowercased())
    let joined = parts.map(\.bytes).joined(separator: [UInt8(ascii: "/")])
    return BytePath(bytes: (isOwn ? Array("_".utf8) : []) + Array(joined))
  }

  private static func expand(
    _ value: Value, _ values: AssetValues, _ path: BytePath, _ name: FileName
  ) -> [UInt8] {
    switch value {
    case .name: name.bytes
    case .stem: name.stem
    case .suffix: name.suffix ?? []
    case .folder: path.parent.bytes
    case .path: path.parent.appending(BytePath(bytes: name.bytes)).bytes
    case .field(let field): withoutSlashes(Array((values.text(of: field) ?? "").utf8))
    case .time(let field, let pattern):
      Array((values.times[field].map { pattern.text(of: $0, field) } ?? "").utf8)
    }
  }

  /// Replaces slashes, which would make folders, and control characters.
  private static func withoutSlashes(_ bytes: [UInt8]) -> [UInt8] {
    bytes.map { $0 == UInt8(ascii: "/") || $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "_") : $0 }
  }
}

/// How a time is written, by a few letters of Unicode's date patterns.
///
/// Source: Unicode Technical Standard 35, “Date Format Patterns”.
private struct TimePattern: Sendable {
  private enum Part: Sendable {
    case text(String)
    case number(String)
  }

  private static let numbers = ["yyyy", "MM", "dd", "HH", "mm", "ss"]
  private var parts: [Part] = []

  init(_ text: Substring, fail: (String) throws(ExportError) -> Never) throws(ExportError) {
    var rest = text
    while let first = rest.first {
      guard first.isASCII, first.isLetter else {
        parts.append(.text(String(rest.removeFirst())))
        continue
      }
      let letters = rest.prefix { $0 == first }
      guard Self.numbers.contains(String(letters)) else {
        try fail("“\(letters)” is none of \(Self.numbers.joined(separator: ", "))")
      }
      parts.append(.number(String(letters)))
      rest = rest.dropFirst(letters.count)
    }
    if parts.isEmpty { try fail("a pattern is empty") }
  }

  /// The time as the clock on the spot showed it, or this machine's for a point in time.
  func text(of microseconds: Int64, _ field: TimeField) -> String {
    var seconds = time_t((Double(microseconds) / 1_000_000).rounded(.down))
    var time = tm()
    if field.isWallClock { gmtime_r(&seconds, &time) } else { localtime_r(&seconds, &time) }
    let values = [
      "yyyy": time.tm_year + 1900, "MM": time.tm_mon + 1, "dd": time.tm_mday, "HH": time.tm_hour,
      "mm": time.tm_min, "ss": time.tm_sec,
    ]
    return parts.map { part in
      switch part {
      case .text(let text): text
      case .number(let letters):
        String("000\(values[letters] ?? 0)".suffix(letters.count))
      }
    }.joined()
  }
}
