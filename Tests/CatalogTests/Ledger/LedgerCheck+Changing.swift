import Catalog
import PipelineModel
import Records
import Testing

extension LedgerCheck {
  static let needing = [
    LedgerCheck("What needs a skipped or failed stage is skipped, and says why") { harness in
      let last = Samples.stage("caption", fingerprint: 3, needs: ["thumbnails"])
      try harness.ledger.configure(Samples.stages() + [last])
      try harness.add([Samples.asset(1), Samples.asset(2), Samples.asset(3)])
      try harness.complete(try harness.claim("identify")) { job in
        switch job.asset {
        case Samples.id(1): .skipped(reason: "It is a text.")
        case Samples.id(2): .failed(class: "permanent", reason: "It is cut off.", retryAt: nil)
        default: .done(facts: [:], renditions: [])
        }
      }
      #expect(try harness.states("thumbnails") == [.skipped: 2, .ready: 1])
      #expect(try harness.states("caption") == [.skipped: 2, .waiting: 1])
      let first = try #require(try harness.job(Samples.id(1), "thumbnails"))
      #expect(
        first.reason == "The stage “identify”, which this one needs, was skipped: It is a text.")
      let second = try #require(try harness.job(Samples.id(2), "caption"))
      #expect(second.reason?.contains("“thumbnails”") == true)
      #expect(
        second.reason?.contains("“identify”, which this one needs, failed: It is cut") == true)
      // An asset that comes later to the same bytes finds the same.
      try harness.add([Samples.asset(4, digest: 2)])
      #expect(try harness.job(Samples.id(4), "caption")?.state == .skipped)

      #expect(try harness.ledger.retry(assets: [Samples.id(1)]) == 0)
      #expect(try harness.ledger.retry(assets: [Samples.id(2)]) == 1)
      #expect(try harness.job(Samples.id(2), "thumbnails")?.state == .waiting)
      #expect(try harness.job(Samples.id(2), "thumbnails")?.reason == nil)
      #expect(try harness.job(Samples.id(2), "caption")?.state == .waiting)
      #expect(try harness.job(Samples.id(1), "caption")?.state == .skipped)
      try harness.finish("identify")
      #expect(try harness.finish("thumbnails") == 2)
      #expect(try harness.finish("caption") == 2)
    },
    LedgerCheck("A row with two needs waits for both") { harness in
      let colours = Samples.stage("colours", fingerprint: 4)
      let both = Samples.stage("both", fingerprint: 5, needs: ["identify", "colours"])
      try harness.ledger.configure([Samples.stages()[0], colours, both])
      try harness.add([Samples.asset(1)])
      try harness.finish("colours")
      #expect(try harness.states("both") == [.waiting: 1])
      try harness.finish("identify")
      #expect(try harness.claim("both").first?.facts.keys.sorted() == ["colours", "identify"])
    },
    LedgerCheck("A need that is not listed before its stage is refused") { harness in
      try harness.ledger.configure(Samples.stages())
      #expect(throws: CatalogError.self) {
        try harness.ledger.configure(Samples.stages().reversed())
      }
      try harness.add([Samples.asset(1)])
      #expect(try harness.states("identify") == [.ready: 1])
    },
  ]

  static let changing = [
    LedgerCheck("Assets that were there before get jobs for a new stage") { harness in
      try harness.add([Samples.asset(1), Samples.asset(2, digest: 1), Samples.asset(3)])
      #expect(try harness.asset(Samples.id(1))?.state == .done)
      try harness.ledger.configure([Samples.stages()[0]])
      #expect(try harness.finish("identify") == 2)
      try harness.ledger.configure(Samples.stages())
      #expect(try harness.states("thumbnails") == [.ready: 2])
      #expect(try harness.claim("identify").isEmpty)
    },
    LedgerCheck("A changed fingerprint redoes exactly its stage and its dependents") { harness in
      let other = Samples.stage("other", fingerprint: 9, needs: ["identify"])
      try harness.ledger.configure(Samples.stages() + [other])
      try harness.add([Samples.asset(1), Samples.asset(2)])
      for stage in ["identify", "thumbnails", "other"] { try harness.finish(stage) }
      try harness.ledger.configure(Samples.stages(thumbnails: 20) + [other])
      #expect(try harness.states("identify") == [.done: 2])
      #expect(try harness.states("other") == [.done: 2])
      #expect(try harness.finish("thumbnails") == 2)
      // A dependent's fingerprint contains those of its needs, so it changes with them.
      let newOther = Samples.stage("other", fingerprint: 90, needs: ["identify"])
      try harness.ledger.configure(Samples.stages(identify: 10, thumbnails: 21) + [newOther])
      #expect(try harness.states("identify") == [.ready: 2])
      #expect(try harness.states("thumbnails") == [.waiting: 2])
      #expect(try harness.finish("identify") == 2)
      #expect(try harness.finish("thumbnails") == 2 && harness.finish("other") == 2)
    },
    LedgerCheck("The old renditions are served, as stale, until the new ones are done") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1)])
      try harness.finish("identify")
      try harness.finish("thumbnails", renditions: [Samples.rendition("grid", path: "r/old")])
      try harness.ledger.configure(Samples.stages(thumbnails: 20))
      var asset = try #require(try harness.asset(Samples.id(1)))
      #expect(asset.renditions.map(\.isStale) == [true] && asset.state == .ready)
      // Another change before the first was carried out: the same old one is served.
      try harness.ledger.configure(Samples.stages(thumbnails: 30))
      asset = try #require(try harness.asset(Samples.id(1)))
      #expect(
        asset.renditions.map(\.path) == ["r/old"] && asset.renditions.map(\.isStale) == [true])
      let jobs = try harness.claim("thumbnails")
      let failed = try harness.complete(jobs) { _ in
        .failed(class: "permanent", reason: "No.", retryAt: nil)
      }
      #expect(failed.isEmpty)
      #expect(try harness.asset(Samples.id(1))?.renditions.map(\.path) == ["r/old"])
      #expect(try harness.ledger.retry(assets: nil) == 1)
      let removed = try harness.complete(try harness.claim("thumbnails")) { _ in
        .done(facts: [:], renditions: [Samples.rendition("grid", path: "r/new")])
      }
      #expect(removed == ["r/old"])
      asset = try #require(try harness.asset(Samples.id(1)))
      #expect(
        asset.renditions.map(\.path) == ["r/new"] && asset.renditions.map(\.isStale) == [false])
    },
    LedgerCheck("A skipped job lets the stale renditions go") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1)])
      try harness.finish("identify")
      try harness.finish("thumbnails", renditions: [Samples.rendition("grid", path: "r/old")])
      try harness.ledger.configure(Samples.stages(thumbnails: 20))
      let removed = try harness.complete(try harness.claim("thumbnails")) { _ in
        .skipped(reason: "It is too small.")
      }
      #expect(removed == ["r/old"])
      #expect(try harness.asset(Samples.id(1))?.renditions.isEmpty == true)
    },
    LedgerCheck("Switching back to what is still there does nothing anew") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1), Samples.asset(2)])
      try harness.finish("identify")
      try harness.finish("thumbnails", renditions: [Samples.rendition("grid")])
      try harness.ledger.configure(Samples.stages(thumbnails: 20))
      let first = try harness.claim("thumbnails", limit: 1)
      try harness.complete(first) { _ in .done(facts: [:], renditions: []) }
      try harness.ledger.configure(Samples.stages())
      // The first asset's old row is gone, the second one's was only waiting to be replaced.
      #expect(try harness.states("thumbnails") == [.ready: 1, .done: 1])
      let second = try #require(try harness.asset(Samples.id(2)))
      #expect(second.state == .done && second.renditions.map(\.isStale) == [false])
      #expect(try harness.claim("thumbnails").map(\.asset) == [Samples.id(1)])
    },
    LedgerCheck("A stage that is left out and comes back finds its rows") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1)])
      try harness.finish("identify")
      try harness.finish("thumbnails", renditions: [Samples.rendition("grid")])
      try harness.ledger.configure([Samples.stages()[0]])
      #expect(try harness.asset(Samples.id(1))?.renditions.isEmpty == true)
      #expect(try harness.ledger.backlog().keys.sorted() == ["identify"])
      try harness.add([Samples.asset(2)])
      try harness.ledger.configure(Samples.stages())
      #expect(try harness.asset(Samples.id(1))?.renditions.map(\.isStale) == [false])
      #expect(try harness.states("thumbnails") == [.done: 1, .waiting: 1])
    },
    LedgerCheck("What runs while the stages change may still end") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1)])
      try harness.finish("identify")
      let job = try #require(try harness.claim("thumbnails").first)
      try harness.ledger.configure(Samples.stages(thumbnails: 20))
      #expect(try harness.states("thumbnails") == [.ready: 1])
      let removed = try harness.complete([job]) { _ in
        .done(facts: [:], renditions: [Samples.rendition("grid", path: "r/unwanted")])
      }
      #expect(removed == ["r/unwanted"])
      #expect(try harness.asset(Samples.id(1))?.renditions.isEmpty == true)
      #expect(try harness.finish("thumbnails") == 1)
    },
    LedgerCheck("A file is not given out for removal if another attempt is about to replace it") {
      harness in
      let other = Samples.stage("other", fingerprint: 20, needs: ["identify"])
      let old = [Samples.rendition("grid", path: "r/old")]
      try harness.ledger.configure(Samples.stages() + [other])
      try harness.add([Samples.asset(1)])
      try harness.finish("identify")
      try harness.finish("thumbnails", renditions: old)
      try harness.finish("other")
      // Now both stages are the same work, which is done: nobody refers to the old row any more.
      try harness.ledger.configure(Samples.stages(thumbnails: 20) + [other])
      #expect(try harness.asset(Samples.id(1))?.state == .done)
      // But the old row is made again before its file was given out.
      try harness.ledger.configure(Samples.stages() + [other])
      try harness.add([Samples.asset(2)])
      let identified = try harness.complete(try harness.claim("identify")) { _ in
        .done(facts: [:], renditions: [])
      }
      // On a server each attempt has its own.
      #expect(identified == (harness.ledger.isOnServer ? ["r/old"] : []))
      let made = try harness.complete(try harness.claim("thumbnails", limit: 1)) { _ in
        .done(facts: [:], renditions: old)
      }
      #expect(made.isEmpty)
    },
  ]
}
