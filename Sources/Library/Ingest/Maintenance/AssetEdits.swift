import Catalog
import Manifest
package import PipelineModel
package import Query
import Records

/// A change of some assets that a user asked for.
package struct AssetEdit: Codable, Hashable, Sendable {
  package enum Action: Codable, Hashable, Sendable {
    /// Adds to what is said about them.
    case annotate([Annotation])
    case trash
    case restore
    /// Makes their failed jobs ready again.
    case retry
  }

  package var action: Action
  package var assets: [AssetID]
  /// Whether one that is gone is an error; otherwise it is left out.
  package var mustExist: Bool

  package init(_ action: Action, _ assets: [AssetID], mustExist: Bool) {
    self.action = action
    self.assets = assets
    self.mustExist = mustExist
  }

  /// The bytes of the texts in its facts.
  package var textBytes: Int {
    guard case .annotate(let annotations) = action else { return 0 }
    return assets.count * annotations.reduce(0) { $0 + $1.text.utf8.count }
  }

  /// How many changes it can come to.
  package var size: Int {
    if case .annotate(let annotations) = action {
      assets.count * annotations.count
    } else {
      assets.count
    }
  }
}

/// What edits came to.
package struct EditResult: Codable, Hashable, Sendable {
  /// The number of assets that were changed; those that had all of it already don't count.
  package var assets = 0
  /// The number of jobs that were made ready again.
  package var jobs = 0

  package init(assets: Int = 0, jobs: Int = 0) {
    self.assets = assets
    self.jobs = jobs
  }
}

/// Makes several edits as one transaction: a kill at any moment leaves none or all of them.
///
/// They are one batch of the manifest that counts only as a whole, and then one transaction of the
/// catalog. Opening the library repeats the second after a kill between the two.
package struct AssetEdits {
  /// The most changes in a transaction: its facts are in memory, and its holder does nothing else
  /// meanwhile.
  package static let most = 50_000
  /// The most bytes of their texts, for the same reason.
  package static let mostTextBytes = 64 << 20

  private let library: IngestLibrary
  private let report: any IngestReport

  package init(library: IngestLibrary, report: any IngestReport) {
    self.library = library
    self.report = report
  }

  /// Checks that edits are not too many for a transaction, and their texts not too long.
  ///
  /// - Throws: `QueryError`.
  package static func check(_ edits: [AssetEdit]) throws(QueryError) {
    let size = edits.reduce(0) { $0 + $1.size }
    let texts = edits.reduce(0) { $0 + $1.textBytes }
    let excess =
      size > most
      ? "\(size) changes at once, more than \(most)"
      : texts > mostTextBytes
        ? "changes with \(ByteSize(bytes: texts)) of text, more than "
          + "\(ByteSize(bytes: mostTextBytes))" : nil
    guard let excess else { return }
    throw QueryError(
      message: "These are \(excess): make several of them, each for some of the assets.")
  }

  /// Makes the edits, one after the other.
  ///
  /// - Throws: `CatalogError` of code `noAsset` for one that must exist and does not; any error
  ///   means that nothing was done, unless the library `isBehind` then: opening it does the rest.
  package func perform(_ edits: [AssetEdit]) throws -> EditResult {
    // A request may come from another program.
    try Self.check(edits)
    let now = Timestamp.now
    var states: [AssetID: AssetState] = [:]
    var facts: [ManifestFact] = []
    var retried: Set<AssetID> = []
    for edit in edits {
      let action = try checked(edit.action)
      for id in edit.assets {
        guard var state = try states[id] ?? self.state(of: id) else {
          if edit.mustExist { throw CatalogError.noAsset(id) }
          continue
        }
        facts += state.apply(action, to: id)
        if action == .retry { retried.insert(id) }
        states[id] = state
      }
    }
    let changed = Set(facts.map(\.taking))
    let retries = retried.sorted()
    // By themselves they are no facts: the catalog has all that they change.
    if !facts.isEmpty { facts += retries.map { .retried(asset: $0) } }
    let jobs =
      facts.isEmpty
      ? try library.catalog.retry(assets: retries)
      : try library.record(facts, at: now, asTransaction: true) { _ in
        facts.compactMap { $0.change(at: now) }
      }
    // Jobs of restored assets may continue.
    report.committed()
    return EditResult(assets: changed.count, jobs: jobs)
  }

  private func checked(_ action: AssetEdit.Action) throws -> AssetEdit.Action {
    guard case .annotate(let annotations) = action else { return action }
    guard annotations.count <= Annotation.mostAtOnce else {
      throw QueryError(message: "These are more than \(Annotation.mostAtOnce) changes at once.")
    }
    return .annotate(
      try annotations.map { annotation throws(QueryError) in
        try Annotation(
          checking: annotation.text, as: annotation.property, applies: annotation.applies)
      })
  }

  private func state(of id: AssetID) throws -> AssetState? {
    guard let isTrashed = try library.reader.isTrashed(id),
      let said = try library.reader.annotations(of: id)
    else { return nil }
    return AssetState(isTrashed: isTrashed, said: said)
  }
}

/// What earlier edits of a transaction made of an asset.
private struct AssetState {
  var isTrashed: Bool
  var said: [Annotation]

  /// Applies an action and returns its facts; none if it changes nothing.
  mutating func apply(_ action: AssetEdit.Action, to id: AssetID) -> [ManifestFact] {
    switch action {
    case .annotate(let annotations):
      let news = annotations.news(to: said)
      for new in news {
        said.removeAll {
          $0.property == new.property && (!new.property.isList || $0.text == new.text)
        }
        said.append(new)
      }
      return news.map { .annotated(asset: id, $0) }
    case .trash, .restore:
      guard isTrashed != (action == .trash) else { return [] }
      isTrashed.toggle()
      return [isTrashed ? .trashed(asset: id) : .restored(asset: id)]
    case .retry: return []
    }
  }
}

extension ManifestFact {
  /// The change to the catalog that a fact of an edit is.
  fileprivate func change(at time: Timestamp) -> CatalogChange? {
    switch self {
    case .trashed(let asset): .trashed(asset, at: time)
    case .restored(let asset): .restored(asset)
    case .annotated(let asset, let annotation): .annotated(asset, annotation)
    case .retried(let asset): .retried(asset)
    case .intent, .stored, .duplicate, .abandoned, .purged, .returning, .returned: nil
    }
  }
}
