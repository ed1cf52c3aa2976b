import Catalog
import PipelineModel
import Records
import Testing

/// One thing that every implementation of `Ledger` must do.
struct LedgerCheck: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let run: @Sendable (any LedgerHarness) throws -> Void

  init(_ description: String, _ run: @escaping @Sendable (any LedgerHarness) throws -> Void) {
    testDescription = description
    self.run = run
  }

  /// The conformance suite.
  static let all = claiming + sharing + needing + changing + failing + keeping
}

extension LedgerCheck {
  static let claiming = [
    LedgerCheck("Each row is claimed once, the oldest first, and not before its turn") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add((1...5).map { Samples.asset($0) })
      let first = try harness.claim("identify", limit: 2)
      #expect(first.map(\.asset) == [Samples.id(1), Samples.id(2)])
      let second = try harness.claim("identify", limit: 10)
      #expect(second.map(\.asset) == (3...5).map { Samples.id($0) })
      #expect(try harness.claim("identify").isEmpty)
      #expect(try harness.claim("thumbnails").isEmpty)
      #expect(try harness.claim("unknown").isEmpty)
      #expect(try harness.states("identify") == [.running: 5])
      #expect(try harness.states("thumbnails") == [.waiting: 5])
    },
    LedgerCheck("A claimed job says what its plugin needs") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(9)])
      let job = try #require(try harness.claim("identify").first)
      let sample = Samples.asset(9)
      #expect(job.asset == sample.id && job.digest == sample.digest && job.name == sample.name)
      #expect(job.size == sample.size && job.fingerprint == Samples.fingerprint(1))
      #expect(job.attempt == 1 && !job.isSuspect && !job.isAssetScoped && job.facts.isEmpty)
      try harness.complete([job]) { _ in .done(facts: ["width": 12], renditions: []) }
      let next = try #require(try harness.claim("thumbnails").first)
      #expect(next.facts == ["identify": ["width": 12]])
    },
    LedgerCheck("A job that is given back counts for nothing") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1), Samples.asset(2)])
      let jobs = try harness.claim("identify")
      try harness.ledger.requeue(jobs.map(\.token))
      #expect(try harness.states("identify") == [.ready: 2])
      let again = try harness.claim("identify")
      #expect(again.map(\.attempt) == [1, 1])
      #expect(Set(again.map(\.token)).isDisjoint(with: jobs.map(\.token)))
    },
    LedgerCheck("A token serves once") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1), Samples.asset(2), Samples.asset(3)])
      let jobs = try harness.claim("identify")
      let done = Completion.Outcome.done(facts: [:], renditions: [])
      try harness.complete([jobs[0]]) { _ in done }
      try harness.ledger.requeue([jobs[1].token])
      for stale in [jobs[0], jobs[1]] {
        let error = #expect(throws: CatalogError.self) {
          try harness.complete([jobs[2], stale]) { _ in done }
        }
        #expect(error?.code == .staleToken)
        #expect(throws: CatalogError.self) { try harness.ledger.requeue([stale.token]) }
      }
      // Nothing of a refused batch is kept.
      #expect(try harness.states("identify") == [.done: 1, .ready: 1, .running: 1])
      try harness.complete([jobs[2]]) { _ in done }
      try harness.restart()
      #expect(throws: CatalogError.self) { try harness.complete([jobs[2]]) { _ in done } }
    },
  ]

  static let sharing = [
    LedgerCheck("Assets with the same bytes share a row of the original's scope") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1, digest: 5), Samples.asset(2, digest: 5)])
      #expect(try harness.claim("identify").map(\.asset) == [Samples.id(1)])
      try harness.restart()
      try harness.ledger.configure(Samples.stages())
      #expect(try harness.finish("identify") == 1)
      #expect(try harness.finish("thumbnails", renditions: [Samples.rendition("grid")]) == 1)
      for number in [1, 2] {
        let asset = try #require(try harness.asset(Samples.id(number)))
        #expect(asset.state == .done && asset.renditions.map(\.name) == ["grid"])
      }
    },
    LedgerCheck("What is done for its bytes is done for an asset that comes later") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1)])
      try harness.finish("identify")
      try harness.finish("thumbnails")
      try harness.add([Samples.asset(2, digest: 1)])
      #expect(try harness.asset(Samples.id(2))?.state == .done)
      #expect(try harness.claim("identify").isEmpty && harness.claim("thumbnails").isEmpty)
    },
    LedgerCheck("Each asset has its own row of the asset's scope") { harness in
      let sidecar = Samples.stage(
        "sidecar", fingerprint: 3, needs: ["identify"], isAssetScoped: true)
      // It needs something of the asset, so it belongs to the asset, too.
      let caption = Samples.stage("caption", fingerprint: 4, needs: ["sidecar", "identify"])
      try harness.ledger.configure([Samples.stages()[0], sidecar, caption])
      try harness.add([Samples.asset(1, digest: 5), Samples.asset(2, digest: 5)])
      #expect(try harness.finish("identify") == 1)
      let jobs = try harness.claim("sidecar")
      #expect(jobs.map(\.asset) == [Samples.id(1), Samples.id(2)])
      #expect(jobs.allSatisfy { $0.isAssetScoped && $0.facts.keys.contains("identify") })
      try harness.complete([jobs[1]]) { _ in .done(facts: ["of": 2], renditions: []) }
      let captions = try harness.claim("caption")
      #expect(captions.map(\.asset) == [Samples.id(2)])
      #expect(captions.first?.facts["sidecar"] == ["of": 2])
      #expect(captions.first?.facts.count == 2)
      // An asset that comes now finds the original's row done, and waits for its own only.
      try harness.add([Samples.asset(3, digest: 5)])
      #expect(try harness.claim("sidecar").map(\.asset) == [Samples.id(3)])
    },
  ]
}
