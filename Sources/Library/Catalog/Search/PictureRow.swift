import PipelineModel
import Query
import Records

/// A row of `picture` with its keywords and albums: what searches need of an asset.
///
/// Texts are composed (NFC), and once more folded for comparing them without case and accents, because
/// SQLite itself can do neither. A folded text that does not differ is `NULL`.
struct PictureRow {
  /// Counts the changes of what is written here, and of signs. A change makes all rows anew.
  static let version = 3

  /// The plugins whose facts are in the rows.
  static let plugins: Set<String> = ["identify", "metadata"]

  let asset: AssetID
  let values: AssetValues

  /// Inserts a row, or replaces the one that is there.
  static let insert = {
    let columns =
      ["asset"] + [TextField.name, .path, .title, .caption].flatMap { ["\($0)", "\($0)_folded"] }
      + ["source", "type", "camera", "lens", "kind", "words"]
      + TimeField.allCases.map(\.rawValue) + NumberField.allCases.map(\.rawValue)
    return """
      INSERT INTO picture (\(columns.joined(separator: ", ")))
      VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
      ON CONFLICT (asset) DO UPDATE SET
      \(columns.dropFirst().map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
      """
  }()

  /// The values of the parameters of `insert`.
  ///
  /// - Parameter term: returns the row of a text in `term`.
  func parameters(
    _ term: (String) throws(CatalogError) -> Int64
  ) throws(CatalogError) -> [any SQLBindable] {
    var parameters: [any SQLBindable] = [asset]
    for field in [TextField.name, .path, .title, .caption] {
      let text = text(field)
      parameters.append(text)
      parameters.append(text.flatMap { Self.folded($0) })
    }
    for field in [TextField.source, .type, .camera, .lens] {
      var id: Int64?
      if let text = text(field) { id = try term(text) }
      parameters.append(id)
    }
    parameters.append(values.texts[.kind]?.first)
    parameters.append(Self.line(of: values.words))
    for field in TimeField.allCases { parameters.append(values.times[field]) }
    for field in NumberField.allCases { parameters.append(values.numbers[field]) }
    return parameters
  }

  /// The values of a list.
  func list(_ field: TextField) -> [String] {
    (values.texts[field] ?? []).map { TextFolding.compose($0) }
  }

  /// Words on a line, each once and between spaces, so that a search finds them as a part of it.
  static func line(of words: [Substring]) -> String? {
    if words.isEmpty { return nil }
    var line = " "
    // A list of a few is searched faster than their hashes are made.
    if words.count <= 32 {
      for (index, word) in words.enumerated() where !words[..<index].contains(word) {
        line += word
        line += " "
      }
    } else {
      var seen: Set<Substring> = []
      for word in words where seen.insert(word).inserted {
        line += word
        line += " "
      }
    }
    return line
  }

  /// The folded text; `nil` if it is the same.
  static func folded(_ text: String) -> String? {
    let folded = TextFolding.fold(text)
    // Byte by byte, because `==` compares characters, however they are composed.
    return folded.utf8.elementsEqual(text.utf8) ? nil : folded
  }

  private func text(_ field: TextField) -> String? {
    values.texts[field]?.first.map { TextFolding.compose($0) }
  }
}

extension TextField {
  /// The table with the values of a list, row by row of `picture`.
  var table: String { self == .album ? "album" : "keyword" }
}
