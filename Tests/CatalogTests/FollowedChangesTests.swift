import Fixtures
import PipelineModel
import Query
import Records
import Testing

@testable import Catalog

/// Followers that read changes only, compared with lists of everything.
@Suite("Followed changes", .onEachDatabase, .timeLimit(.minutes(10)))
struct FollowedChangesTests {
  /// Another one in each run; failures print it.
  private static let seed = UInt64.random(in: 1..<1_000_000)

  @Test("After 600 random changes, a follower knows what a list shows")
  func random() throws {
    var changes = try RandomChanges(random: SeededRandom(seed: Self.seed))
    var known: [AssetID: String] = [:]
    var trashed: Set<AssetID> = []
    let search = AssetSearch(.flag(.trashed))
    var place = try changes.library.read { try $0.revision }
    for step in 0..<600 {
      let name = try changes.next()
      // An unfinished change of stages is told of when it is finished.
      let isUnfinished = try changes.library.catalog.read { (connection) throws(CatalogError) in
        try ConfigurationProgress.read(connection) != nil
      }
      try changes.library.read { reader in
        while true {
          let page = try search.changes(since: place, in: reader, damaged: [], need: .keys)
          for change in page.assets {
            known[change.id] = try Self.look(at: change.id, reader)
            switch change.outcome {
            case .found: trashed.insert(change.id)
            case .notFound: trashed.remove(change.id)
            case .deleted:
              trashed.remove(change.id)
              #expect(known[change.id] == nil)
            }
          }
          place = page.revision
          if page.isLast { break }
        }
        if isUnfinished { return }
        var listed: [AssetID: String] = [:]
        var inTrash: Set<AssetID> = []
        try reader.assets { asset in
          listed[asset.id] = try Self.look(at: asset.id, reader)
          if asset.trashedAt != nil { inTrash.insert(asset.id) }
        }
        for id in Set(listed.keys).union(known.keys) where listed[id] != known[id] {
          Issue.record(
            """
            seed \(Self.seed), step \(step), \(name): the follower knows
            \(known[id] ?? "nothing"), and the list shows
            \(listed[id] ?? "nothing")
            """)
        }
        #expect(trashed == inTrash, "seed \(Self.seed), step \(step), \(name)")
      }
    }
    try changes.library.catalog.configure(Samples.stages())
    #expect(try changes.library.integrity() == "ok")
    for kind in RandomChanges.Kind.allCases {
      #expect(changes.counts[kind, default: 0] >= 5, "\(kind)")
    }
  }

  /// What readers see of an asset; that its jobs run is no change.
  private static func look(at id: AssetID, _ reader: CatalogReader) throws -> String? {
    guard let asset = try reader.asset(id) else { return nil }
    let state = asset.state == .processing ? .ready : asset.state
    let renditions = asset.renditions.map {
      "\($0.stage)/\($0.name) \($0.digest.hex.prefix(8)) \($0.path == nil) \($0.isStale)"
    }
    let facts = try reader.jobs(of: id).map { "\($0.stage) \(String(describing: $0.facts))" }
    return """
      \(state) \(String(describing: asset.trashedAt)) \(String(describing: asset.supersedes)) \
      \(String(describing: asset.identity)) \(asset.skipped) \(renditions) \(facts) \
      \(asset.annotations)
      """
  }
}

/// Changes a catalog in every way that there is, at random.
struct RandomChanges {
  enum Kind: CaseIterable {
    case add, configure, claim, complete, requeue, trash, restore, purge, giveBack, retry, retryAll
    case relocate, invalidate, reopen, dropFormer, annotate
  }

  let library: Library
  private(set) var counts: [Kind: Int] = [:]
  private var random: SeededRandom
  private var open: [ClaimedJob] = []
  private var last = 0

  private static let names = ["identify", "metadata", "thumbnails", "sidecar"]

  init(random: SeededRandom) throws {
    library = try Library()
    self.random = random
    try library.catalog.configure(Samples.stages())
  }

  /// Makes one change, and returns its kind.
  mutating func next() throws -> Kind {
    // Most often what makes most of a catalog.
    let usual: [Kind] = [.add, .claim, .claim, .complete, .complete, .complete]
    let kind = pick(Kind.allCases + usual)
    counts[kind, default: 0] += 1
    let catalog = library.catalog
    switch kind {
    case .add: try add()
    case .configure: try configure()
    case .claim:
      open += try catalog.claim(
        stage: pick(Self.names), limit: pick([1, 5]), suspects: pick([true, false]))
    case .complete:
      open.shuffle(using: &random)
      let jobs = open.prefix(pick([1, 3, 9]))
      open.removeFirst(jobs.count)
      _ = try catalog.complete(jobs.map { completion(of: $0) })
    case .requeue:
      if let job = open.popLast() { try catalog.requeue([job.token]) }
    case .trash: try apply { .trashed($0, at: .now) }
    case .restore: try apply { .restored($0) }
    case .annotate:
      let annotation = Annotation(
        pick(Annotation.Property.allCases), "\(pick([1, 2]))", applies: pick([true, false]))
      try apply { .annotated($0, annotation) }
    case .purge: try apply { .purged($0, sequence: 1) }
    case .giveBack:
      let seen = Sighting(source: Samples.source, path: "x", state: .returned, seenAt: .now)
      try apply { .returned($0, seen) }
    case .retry: if let id = asset() { _ = try catalog.retry(assets: [id]) }
    case .retryAll: _ = try catalog.retry(assets: nil)
    case .relocate:
      if let rendition = try rendition() {
        try catalog.relocate(
          rendition.id,
          to: rendition.path == nil ? .file(path: "renditions/\(rendition.id)") : .database([1]))
      }
    case .invalidate:
      if let rendition = try rendition() { try catalog.invalidate(rendition: rendition.id) }
    case .reopen:
      try library.reopen()
      open = []
      try configure()
    case .dropFormer:
      var former = try FormerStages(catalog)
      while try former.dropNext() != nil {}
    }
    return kind
  }

  private mutating func pick<Value>(_ values: [Value]) -> Value {
    values[Int.random(in: 0..<values.count, using: &random)]
  }

  private mutating func asset() -> AssetID? {
    last == 0 ? nil : Samples.id(Int.random(in: 1...last, using: &random))
  }

  private mutating func add() throws {
    let count = pick([1, 1, 4])
    try library.add(
      (1...count).map { _ in
        last += 1
        var asset = Samples.asset(last, digest: pick([last, max(1, last - 2)]))
        asset.supersedes = pick([nil, self.asset()])
        return asset
      })
  }

  private mutating func configure() throws {
    var stages = Samples.stages(identify: pick([1, 1, 11]), thumbnails: pick([2, 22]))
    if pick([true, false]) {
      stages.insert(
        Samples.stage("metadata", fingerprint: 4, needs: pick([[], ["identify"]])), at: 1)
    }
    if pick([true, false]) {
      stages.append(Samples.stage("sidecar", fingerprint: 3, isAssetScoped: true))
    }
    if pick([true, false]) { stages = stages.filter { $0.name != "thumbnails" } }
    // Now and then one that is not finished.
    var left = pick([1000, 1000, 1])
    try library.catalog.configure(stages) {
      left -= 1
      return left < 0
    }
  }

  private mutating func apply(_ change: (AssetID) -> CatalogChange) throws {
    guard let id = asset() else { return }
    try library.catalog.apply([change(id)], manifestPosition: 0)
  }

  private mutating func rendition() throws -> RenditionRecord? {
    var all: [RenditionRecord] = []
    try library.read { try $0.allRenditions { all.append($0) } }
    return all.randomElement(using: &random)
  }

  private mutating func completion(of job: ClaimedJob) -> Completion {
    let outcome: Completion.Outcome =
      switch Int.random(in: 0..<6, using: &random) {
      case 0: .failed(class: "permanent", reason: "Why.", retryAt: nil)
      case 1: .failed(class: "transient", reason: "Why.", retryAt: .now)
      case 2: .skipped(reason: "Why.")
      default:
        .done(
          facts: ["width": .integer(pick([1, 2, 3]))],
          renditions: [
            Samples.rendition("r", path: pick([nil, "renditions/\(job.token.rawValue)"]))
          ])
      }
    return Completion(token: job.token, outcome: outcome, seconds: 1)
  }
}
