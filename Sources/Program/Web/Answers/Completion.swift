import Catalog
import Ingest
import PipelineModel
import Query
import Records

/// What may follow what somebody types into the search box.
enum Completion {
  private static let most = 20

  /// `api/v1/complete`: words that begin, or contain, the last one of a query.
  static func words(
    for query: String, from known: FieldValues, _ disclosure: Disclosure,
    in library: ReadableLibrary
  ) throws -> JSONValue {
    let word = lastWord(of: query)
    let found: [(text: String, about: String)]
    if let colon = word.firstIndex(where: { $0 == ":" || $0 == "=" }) {
      let field = String(word[..<colon])
      let beginning = String(word[word.index(after: colon)...]).filter { $0 != "\"" }
      found = try values(of: field, beginning, String(word[...colon]), from: known, in: library)
    } else if word.hasPrefix("@") {
      let saved = try SavedSearches.read(in: library.library)
      found = saved.sorted { $0.key < $1.key }
        .filter { $0.key.hasPrefix(word.dropFirst()) && disclosure.allows($0.value, saved) }
        .map { ("@\($0.key)", $0.value) }
    } else {
      found =
        disclosure.fields.filter { $0.name.hasPrefix(word.lowercased()) }
        .map { ("\($0.name):", $0.summary) }
        + ("is".hasPrefix(word.lowercased()) ? [("is:", "a property, such as is:failed")] : [])
    }
    let words: [JSONValue] = found.prefix(most).map { word in
      ["text": .string(word.text), "about": .string(word.about)]
    }
    return ["words": .array(words)]
  }

  /// The part behind the last space outside of quotes, without its dash and brackets.
  static func lastWord(of query: String) -> Substring {
    var isQuoted = false
    var start = query.startIndex
    for index in query.indices {
      if query[index] == "\"" { isQuoted.toggle() }
      if query[index].isWhitespace, !isQuoted { start = query.index(after: index) }
    }
    return query[start...].drop { $0 == "-" || $0 == "(" }
  }

  private static func values(
    of name: String, _ beginning: String, _ start: String, from known: FieldValues,
    in library: ReadableLibrary
  ) throws -> [(text: String, about: String)] {
    let folded = TextFolding.fold(beginning)
    if name == "is" {
      return Flag.allCases.filter { $0.rawValue.hasPrefix(folded) }
        .map { ("is:\($0.rawValue)", $0.summary) }
    }
    if name == "state" {
      // Counting them takes seconds in a large library.
      return AssetRecord.State.allCases.filter { $0.rawValue.hasPrefix(folded) }
        .map { (start + $0.rawValue, "\($0.rawValue) files") }
    }
    guard case .text(let field)? = Field.named(name),
      [.type, .kind, .camera, .lens, .tag, .album, .source, .role].contains(field)
    else { return [] }
    return try known.values(of: field, in: library).lazy
      .filter { folded.isEmpty || $0.folded.contains(folded) }
      .prefix(most)
      .map { value in
        (start + quoted(value.text), value.count == 1 ? "1 file" : "\(value.count) files")
      }
  }

  /// A value as a query has it.
  static func quoted(_ value: String) -> String {
    let isPlain = value.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        || byte >= 0x80 || "-_./".utf8.contains(byte)
    }
    if isPlain, !value.isEmpty { return value }
    let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    return "\"\(escaped)\""
  }
}
