import PipelineModel
import Records
import Testing

@testable import Catalog

@Suite("A new stage for many assets", .onEachDatabase, .timeLimit(.minutes(5)))
struct ConfigurationStepTests {
  private static let count = 2 * CatalogWriter.configurationPage + 3

  private func makeLibrary() throws -> Library {
    let library = try Library()
    try library.catalog.configure([Samples.stages()[0]])
    try library.add((1...Self.count).map { Samples.asset($0) })
    return library
  }

  /// Configures as far as the first steps go.
  private func configure(_ stages: [StageDefinition], steps: Int, _ library: Library) throws {
    var asked = 0
    try library.catalog.configure(stages) {
      asked += 1
      return asked > steps
    }
  }

  @Test("A change is made in short transactions")
  func bounded() throws {
    let library = try makeLibrary()
    var most = 0
    var last = 0
    try library.catalog.configure(Samples.stages()) {
      // Called between transactions, so that it may use the catalog itself.
      let now = (try? library.count("SELECT count(*) FROM job")) ?? -1
      most = max(most, last == 0 ? 0 : now - last)
      last = now
      return false
    }
    #expect(last == 2 * Self.count && most == CatalogWriter.configurationPage)
  }

  @Test("What was stopped is gone on with by the next process, and every asset has its jobs once")
  func resumed() throws {
    let library = try makeLibrary()
    let stages = Samples.stages()
    try configure(stages, steps: 1, library)
    #expect(
      try library.count("SELECT count(*) FROM job")
        == Self.count + CatalogWriter.configurationPage)
    // What comes meanwhile has all of its jobs at once.
    try library.add([Samples.asset(9_000)])
    for steps in 1...9 {
      try library.reopen()
      try configure(stages, steps: steps, library)
    }
    #expect(try library.count("SELECT count(*) FROM job") == 2 * (Self.count + 1))
    #expect(try library.count("SELECT count(*) FROM ledger") == 2 * (Self.count + 1))
    #expect(
      try library.catalog.backlog() == [
        "identify": [.ready: Self.count + 1], "thumbnails": [.waiting: Self.count + 1],
      ])
    #expect(
      try library.count("SELECT count(*) FROM setting WHERE key = '\(Setting.progress)'") == 0)
    #expect(try library.integrity() == "ok")
  }

  @Test("A change in the middle of another one leaves nothing of the first")
  func changedMeanwhile() throws {
    let library = try makeLibrary()
    try configure(Samples.stages(thumbnails: 20), steps: 1, library)
    try configure(Samples.stages(thumbnails: 21), steps: 2, library)
    try library.catalog.configure(Samples.stages(thumbnails: 22))
    #expect(try library.count("SELECT count(*) FROM job") == 2 * Self.count)
    #expect(try library.count("SELECT count(*) FROM ledger") == 2 * Self.count)
    #expect(
      try library.count("SELECT count(DISTINCT fingerprint) FROM ledger") == 2)
    #expect(try library.integrity() == "ok")
  }

  @Test("A stage that was left out before all assets had its jobs is dropped whole")
  func droppedMeanwhile() throws {
    let library = try makeLibrary()
    try library.catalog.configure(Samples.stages(thumbnails: 20))
    try configure(Samples.stages(thumbnails: 21), steps: 1, library)
    try library.catalog.configure([Samples.stages()[0]])
    var former = try FormerStages(library.catalog)
    while try former.dropNext() != nil {}
    #expect(try library.count("SELECT count(*) FROM job") == Self.count)
    #expect(try library.count("SELECT count(*) FROM ledger") == Self.count)
    // Of what is dropped nothing is looked for again.
    former = try FormerStages(library.catalog)
    #expect(try former.dropNext() == nil)
    #expect(try library.integrity() == "ok")
  }

  @Test("More failures than a page holds are all made ready again")
  func retry() throws {
    let library = try makeLibrary()
    let jobs = try library.catalog.claim(stage: "identify", limit: .max, suspects: false)
    _ = try library.catalog.complete(
      jobs.map {
        Completion(
          token: $0.token, outcome: .failed(class: "permanent", reason: "Why.", retryAt: nil),
          seconds: 1)
      })
    #expect(try library.catalog.retry(assets: [Samples.id(7)]) == 1)
    #expect(try library.catalog.retry(assets: nil) == Self.count - 1)
    #expect(try library.catalog.backlog() == ["identify": [.ready: Self.count]])
    #expect(try library.catalog.retry(assets: nil) == 0)
  }
}
