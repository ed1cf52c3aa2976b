import Ingest
import LibraryControl
import LibrarySession
import PipelineModel
import Query

/// `pipeline search`: gives queries names.
enum SearchVerb: Verb {
  static let name = "search"
  static let summary = "Give a query a name, by which other queries use it"
  static let operands = "list | save NAME QUERY | remove NAME"
  static let takesQuery = true
  static let options = [Option.wait]
  static let examples = [
    ("pipeline search save keepers 'rating>=4 -is:trashed'", "from now on @keepers means this"),
    ("pipeline list @keepers taken:2024", "what it finds of one year"),
    ("pipeline search list", "all names with their queries"),
    ("pipeline search remove keepers", "the name, and nothing that it finds"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    switch try context.operand(0, "list, save or remove").utf8 {
    case "list":
      try context.expectOperands(atMost: 1)
      return try list(context)
    case "save": return try save(context)
    case "remove":
      try context.expectOperands(atMost: 2)
      return try remove(context)
    default:
      throw UsageError("Name an action: list, save or remove.", verb: name)
    }
  }

  private static func list(_ context: Context) throws -> ExitCode {
    let searches = try context.savedSearches()
    for (name, query) in searches.sorted(by: { $0.key < $1.key }) {
      try context.console.expectReader()
      if context.console.isJSON {
        context.console.event("search", ["name": .string(name), "query": .string(query)])
      } else {
        context.console.result("@\(name)\t\(query.printable)")
      }
    }
    context.console.total(
      searches.count == 1 ? "1 saved search" : "\(searches.count) saved searches")
    return .success
  }

  private static func save(_ context: Context) throws -> ExitCode {
    let search = try searchName(context)
    let words = try context.words(context.arguments.operands.dropFirst(2))
    guard !words.isEmpty else { throw UsageError("QUERY is missing.", verb: name) }
    let query = words.joined(separator: " ")
    guard query.utf8.count <= SavedSearches.mostBytes else {
      throw UsageError(
        "The query has more than \(SavedSearches.mostBytes) bytes.", verb: name)
    }
    // It must be understood now, with the name that it is going to have.
    var searches = try context.savedSearches()
    searches[search] = query
    _ = try Filter(query: "@\(search)", saved: searches)
    _ = try context.perform(.saveSearch(name: search, query: query))
    context.console.summary(
      "saved", ["name": .string(search), "query": .string(query)],
      "@\(search) means: \(query)")
    return .success
  }

  private static func remove(_ context: Context) throws -> ExitCode {
    let search = try searchName(context)
    let searches = try context.savedSearches()
    guard searches[search] != nil else { throw QueryError.unknownSearch(search, among: searches) }
    _ = try context.perform(.saveSearch(name: search, query: nil))
    context.console.summary("removed", ["name": .string(search)], "@\(search) is removed.")
    return .success
  }

  /// The name of the search, with or without its “@”.
  private static func searchName(_ context: Context) throws(UsageError) -> String {
    var text = try context.operand(1, "NAME").description
    if text.hasPrefix("@") { text.removeFirst() }
    guard SavedSearches.isName(text) else {
      throw UsageError(
        "\(quoted(text)) can't be the name of a search: use letters, digits, “-”, “_” and “.”, at most "
          + "64.", verb: name)
    }
    return text
  }
}
