import Files
import PipelineModel

/// Queries that users gave names, which `searches.json` in the library keeps.
package enum SavedSearches {
  static let file = BytePath("searches.json")
  /// The most searches, and the longest text of one.
  package static let most = 1000
  package static let mostBytes = 16 << 10
  private static let fileLimit = 32 << 20

  /// Whether a search may have a name: letters and digits of ASCII, `-`, `_` and `.`, at most 64.
  package static func isName(_ name: String) -> Bool {
    (1...64).contains(name.utf8.count)
      && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
  }

  /// The queries by name.
  ///
  /// - Throws: `IngestError` of code `file` if the file is not what `save` wrote.
  package static func read(in library: LibraryFolder) throws -> [String: String] {
    guard let bytes = try library.folder.readFileIfThere(file, limit: fileLimit) else { return [:] }
    do {
      return try JSONText.decode([String: String].self, from: bytes)
    } catch {
      let path = library.layout.root.appending(file)
      throw IngestError(
        .file,
        "The saved searches “\(path.printable)” can't be read: \(error). Mend the file, or remove it.",
        path: path)
    }
  }

  /// Saves a search, replacing one of the same name, or removes it.
  ///
  /// Only the process that holds the library's lock may do so.
  ///
  /// - Parameter query: the query; `nil` to remove the search.
  /// - Returns: whether there was a search of this name.
  package static func save(
    _ name: String, _ query: String?, in library: IngestLibrary
  ) throws -> Bool {
    var searches = try read(in: library.found)
    let former = searches[name]
    guard former != query else { return former != nil }
    searches[name] = query
    guard searches.count <= most else {
      throw IngestError(
        .file, "There are \(most) saved searches already; remove one first.",
        path: library.layout.root.appending(file))
    }
    try library.folder.writeDurably(
      Array((try JSONText.encodePretty(searches) + "\n").utf8), as: file)
    return former != nil
  }
}
