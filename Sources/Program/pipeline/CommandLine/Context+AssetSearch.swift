import Catalog
import Configuration
import Ingest
import LibrarySession
import PipelineModel
import Query
import Records

/// Options of verbs that take a query.
extension Option {
  static let sort = Option(
    name: "--sort", value: "FIELD,…", help: "sort by fields, e.g. -taken,name; - is descending",
    values: Field.all.map(\.name))
  static let limit = Option(name: "--limit", value: "COUNT", help: "list at most so many")
  static let after = Option(
    name: "--after", value: "ID", help: "go on after this asset, with the same query and order")
  static let since = Option(
    name: "--since", value: "REVISION", help: "list what changed since; 0 is the beginning")
  static let follow = Option(
    name: "--follow", help: "go on listing what changes, until a signal")
  static let groupBy = Option(
    name: "--group-by", value: "FIELD",
    help: "count by day, month, year, folder, camera, lens, tag, type, …", values: Grouping.names)
  static let fields = Option(
    name: "--fields", value: "FIELD,…", help: "print these, e.g. id,name,taken,tag,state",
    values: AssetColumn.names)
  static let explain = Option(
    name: "--explain", help: "say what the query means and how it is answered, find nothing")
  static let format = Option(
    name: "--format", value: "FORMAT", help: "lines, table, json, csv or tsv",
    values: AssetOutput.Format.allCases.map(\.rawValue))
}

extension Context {
  /// The search that operands and options ask for.
  ///
  /// - Parameter operands: those that are the query; all by default.
  func assetSearch(_ operands: ArraySlice<BytePath>? = nil) throws -> AssetSearch {
    let words = try words(operands ?? arguments.operands[...])
    let saved = words.contains { $0.contains("@") } ? try savedSearches() : [:]
    var search = AssetSearch(try Filter(words: words, saved: saved))
    if let text = arguments.value(.sort) { search.order = try SortCriterion.all(in: text) }
    search.limit = try count(.limit)
    if let text = arguments.path(.after) {
      search.after = try AssetID(text.description) ?? reading { try $0.asset(text).id }
    }
    return search
  }

  /// Operands as text.
  func words(_ operands: ArraySlice<BytePath>) throws(UsageError) -> [String] {
    try operands.map { operand throws(UsageError) in
      guard let word = operand.utf8 else {
        throw UsageError("“\(operand.printable)” is not UTF-8.", verb: arguments.verb)
      }
      return word
    }
  }

  /// Prints what a search means, the SQL that answers it, and what that reads.
  func explain(_ search: AssetSearch) throws -> ExitCode {
    guard arguments.path(.groupBy) == nil else {
      throw UsageError("--explain is for lists, not for --group-by.", verb: arguments.verb)
    }
    let session = try ReadingSession(self.search)
    let isEverything = search.isEverything
    let statements =
      isEverything
      ? nil
      : try search.explain(in: session.catalog, damaged: session.damagedAssets(for: search.filter))
    if console.isJSON {
      console.event(
        "explanation",
        [
          "filter": .array(search.filter.outline.map { .string($0) }),
          "statements": statements.map { .array($0.map(Self.json)) } ?? .null,
        ])
      return .success
    }
    for line in search.filter.outline { console.result(line.printable) }
    guard let statements else {
      console.result(
        isEverything
          ? "All assets are read in the order of import."
          : "The facts of all assets are read: the next run prepares them for searches, or the query "
            + "is too long for SQL.")
      return .success
    }
    for statement in statements {
      console.result("")
      console.result(statement.sql.split { $0.isWhitespace }.joined(separator: " "))
      for (number, value) in statement.values.enumerated() {
        console.result("  ?\(number + 1) = \(value.printable)")
      }
      for step in statement.plan { console.result("  \(step)") }
    }
    return .success
  }

  private static func json(_ statement: ExplainedStatement) -> JSONValue {
    [
      "sql": .string(statement.sql), "values": .array(statement.values.map { .string($0) }),
      "plan": .array(statement.plan.map { .string($0) }),
    ]
  }

  /// The queries that have names, without waiting for anybody.
  func savedSearches() throws -> [String: String] {
    try SavedSearches.read(in: LibraryFolder.open(LibrarySetup(search).layout))
  }

  /// Warns if a search that found nothing asks for what no stage reads.
  func explain(found count: Int, by search: AssetSearch, in session: ReadingSession) {
    if count == 0, search.asksForMetadata { warnOfMissingMetadata(in: session) }
  }

  /// Warns if no stage reads cameras, tags and the like.
  func warnOfMissingMetadata(in session: ReadingSession) {
    let configuration = session.setup.configuration
    if configuration.stages.contains(where: { $0.plugin == "metadata" }) { return }
    console.warning(
      "What files say of cameras, tags, places and the like is unknown, because no stage has the plugin `metadata`. "
        + "Add {\"name\": \"metadata\", \"plugin\": \"metadata\"} to the stages in "
        + "\(configuration.file.printable), and run the pipeline.")
  }

  /// How to group, if that was asked for.
  func grouping() throws(UsageError) -> Grouping? {
    guard let text = arguments.value(.groupBy) else { return nil }
    guard let grouping = Grouping(text) else {
      throw .unknownValue(text, of: .groupBy, known: Grouping.names, verb: arguments.verb)
    }
    for option in [Option.sort, .limit, .after, .fields, .format]
    where arguments.path(option) != nil {
      throw UsageError(
        "\(option.name) is for lists of assets, and --group-by counts them.",
        verb: arguments.verb)
    }
    return grouping
  }

  private func count(_ option: Option) throws(UsageError) -> Int? {
    guard let text = arguments.value(option) else { return nil }
    guard let count = Int(text), count >= 0 else {
      throw UsageError("\(option.name) needs a number, not “\(text)”.", verb: arguments.verb)
    }
    return count
  }
}
