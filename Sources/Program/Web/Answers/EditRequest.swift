import Catalog
import Ingest
import LibrarySession
import PipelineModel
import Query

/// What `POST api/v1/edit` and `api/v1/retry` ask for.
struct EditRequest: Sendable {
  /// The assets, by their keys or by a query.
  enum Selection: Sendable {
    case keys([AssetID])
    case query(String)
  }

  let selection: Selection
  /// Only assets with a failed job of this stage; `nil` for any.
  let stage: String?
  let actions: [AssetEdit.Action]
  /// What has to be allowed.
  let changes: Set<WebChange>

  /// Reads the body of `edit`.
  init(edit body: [UInt8]) throws(HTTPError) {
    let members = try Self.members(
      body, known: ["ids", "q", "tag", "trash", "restore", "rate"])
    selection = try Self.selection(members)
    stage = nil
    var actions: [AssetEdit.Action] = []
    var changes: Set<WebChange> = []
    var annotations: [Annotation] = []
    if let tag = members["tag"] {
      guard case .object(let lists) = tag, lists.keys.allSatisfy({ $0 == "add" || $0 == "remove" })
      else { throw .badRequest("“tag” must have the lists “add” and “remove”.") }
      for (name, applies) in [("add", true), ("remove", false)] {
        guard let list = lists[name] else { continue }
        guard let texts = list.array else { throw .badRequest("“\(name)” must be a list.") }
        for text in texts {
          annotations.append(try Self.annotation(text.string, .tag, applies: applies))
        }
      }
    }
    if let rate = members["rate"] {
      annotations.append(try Self.annotation(rate.integer.map { "\($0)" }, .rating))
    }
    if !annotations.isEmpty {
      actions.append(.annotate(annotations))
      changes.insert(.tag)
    }
    for (name, action) in [("trash", AssetEdit.Action.trash), ("restore", .restore)] {
      guard let value = members[name] else { continue }
      guard let isWanted = value.bool else { throw .badRequest("“\(name)” must be true or false.") }
      if isWanted {
        actions.append(action)
        changes.insert(.trash)
      }
    }
    guard !actions.isEmpty else { throw .badRequest("The edit changes nothing.") }
    self.actions = actions
    self.changes = changes
  }

  /// Reads the body of `retry`.
  init(retry body: [UInt8]) throws(HTTPError) {
    let members = try Self.members(body, known: ["ids", "q", "stage"])
    selection = try Self.selection(members)
    stage = members["stage"]?.string
    guard stage != nil || members["stage"] == nil else {
      throw .badRequest("“stage” must be a stage's name.")
    }
    actions = [.retry]
    changes = [.retry]
  }

  /// The edits, with the keys of what a query finds.
  func edits(in library: ReadableLibrary, _ disclosure: Disclosure) throws -> [AssetEdit] {
    var keys: [AssetID] = []
    switch selection {
    case .keys(let given): keys = given
    case .query(let query):
      var search = try GallerySearch(query: query).search(in: library, disclosure)
      search.order = []
      search.limit = AssetEdits.most + 1
      let damaged = try library.damagedAssets(for: search.filter)
      try search.run(in: library.catalog, damaged: damaged, need: .keys) { id, _ in
        keys.append(id)
      }
    }
    if let stage {
      let failed = try library.catalog.failedAssets(ofStage: stage)
      keys = keys.filter(failed.contains)
    }
    let edits = actions.map { AssetEdit($0, keys, mustExist: false) }
    try AssetEdits.check(edits)
    return edits
  }

  private static func members(
    _ body: [UInt8], known: Set<String>
  ) throws(HTTPError) -> [String: JSONValue] {
    guard let value = try? JSONText.decode(JSONValue.self, from: body), let members = value.object
    else { throw .badRequest("The body must be a JSON object.") }
    if let unknown = members.keys.first(where: { !known.contains($0) }) {
      throw .badRequest("The body has the unknown member “\(unknown)”.")
    }
    return members
  }

  private static func selection(_ members: [String: JSONValue]) throws(HTTPError) -> Selection {
    switch (members["ids"], members["q"]) {
    case (let ids?, nil):
      let keys = ids.array?.map { $0.string.flatMap { AssetID($0) } }
      guard let keys, !keys.contains(nil) else { throw .badRequest("“ids” must be a list of IDs.") }
      return .keys(keys.compactMap(\.self))
    case (nil, let query?):
      guard let text = query.string, !text.isEmpty else {
        throw .badRequest("“q” must be a query that is not empty.")
      }
      return .query(text)
    default: throw .badRequest("The body must have either “ids” or “q”.")
    }
  }

  private static func annotation(
    _ text: String?, _ property: Annotation.Property, applies: Bool = true
  ) throws(HTTPError) -> Annotation {
    guard let text else { throw .badRequest("The \(property.rawValue) has a wrong type.") }
    do throws(QueryError) {
      return try Annotation(checking: text, as: property, applies: applies)
    } catch {
      throw .badRequest(error.message)
    }
  }
}
