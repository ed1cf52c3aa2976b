import Catalog
import PipelineModel
import Records
import Testing

extension LedgerCheck {
  static let failing = [
    LedgerCheck("A transient failure is due again at its time, with the attempts counted") {
      harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1)])
      #expect(try harness.ledger.nextDue(after: Samples.start).next == nil)
      let due = Timestamp.now.adding(seconds: 3_600)
      try harness.complete(try harness.claim("identify")) { _ in
        .failed(class: "transient", reason: "No space.", retryAt: due)
      }
      let found = try #require(harness.ledger.nextDue(after: Samples.start).next)
      #expect(found.isAbout(due))
      let now = try harness.ledger.nextDue(after: found)
      #expect(now.next == nil && now.now.isAbout(.now))
      #expect(try harness.claim("identify").isEmpty)
      let job = try #require(try harness.job(Samples.id(1), "identify"))
      #expect(job.state == .ready && job.reason == "No space.")
      #expect(job.notBefore == found)
      #expect(job.attempts == 1 && job.failureClass == "transient" && job.seconds == 0.25)
      #expect(try harness.ledger.retry(assets: nil) == 1)
      #expect(try harness.claim("identify").map(\.asset) == [Samples.id(1)])
      #expect(try harness.states("thumbnails") == [.waiting: 1])
    },
    LedgerCheck("A failure whose time has come is claimed as the next attempt") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1)])
      for attempt in 1...4 {
        let jobs = try harness.claim("identify")
        #expect(jobs.map(\.attempt) == [attempt])
        try harness.complete(jobs) { _ in
          .failed(class: "transient", reason: "No space.", retryAt: Samples.start)
        }
      }
      try harness.finish("identify")
      let job = try #require(try harness.job(Samples.id(1), "identify"))
      #expect(job.state == .done && job.attempts == 5 && job.reason == nil)
      #expect(try harness.ledger.nextDue(after: Samples.start).next == nil)
    },
    LedgerCheck("A failure of the machine counts for nothing, and takes nothing from earlier ones")
    {
      harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1)])
      for (kind, attempts) in [
        ("environment", 0), ("environment", 0), ("transient", 1), ("environment", 1),
        ("transient", 2),
      ] {
        try harness.complete(try harness.claim("identify")) { _ in
          .failed(class: kind, reason: "No decoder.", retryAt: Samples.start)
        }
        let job = try #require(try harness.job(Samples.id(1), "identify"))
        #expect(job.state == .ready && job.attempts == attempts && job.failureClass == kind)
      }
      // While it is under way the attempt counts, so that a crash has its suspect.
      _ = try harness.claim("identify")
      #expect(try harness.job(Samples.id(1), "identify")?.attempts == 3)
    },
    LedgerCheck("Failed rows are ready again on request, with their attempts counted anew") {
      harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add((1...4).map { Samples.asset($0) })
      try harness.complete(try harness.claim("identify", limit: 3)) { _ in
        .failed(class: "permanent", reason: "It is cut off.", retryAt: nil)
      }
      #expect(try harness.claim("identify").map(\.asset) == [Samples.id(4)])
      #expect(try harness.asset(Samples.id(1))?.state == .failed)
      #expect(try harness.ledger.retry(assets: [Samples.id(2), Samples.id(4)]) == 1)
      #expect(try harness.claim("identify").map(\.asset) == [Samples.id(2)])
      #expect(try harness.ledger.retry(assets: []) == 0)
      #expect(try harness.ledger.retry(assets: nil) == 2)
      #expect(try harness.claim("identify").map(\.attempt) == [1, 1])
    },
    LedgerCheck("Failed rows are ready again under another runtime or other limits") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1), Samples.asset(2)])
      let jobs = try harness.claim("identify")
      try harness.complete(jobs) { job in
        job.asset == Samples.id(1)
          ? .failed(class: "permanent", reason: "Unknown.", retryAt: nil)
          : .done(facts: [:], renditions: [])
      }
      try harness.ledger.configure(Samples.stages())
      #expect(try harness.states("identify") == [.failed: 1, .done: 1])
      var stages = Samples.stages()
      stages[0].runtime = "1.1"
      try harness.ledger.configure(stages)
      #expect(try harness.states("identify") == [.ready: 1, .done: 1])
      #expect(try harness.states("thumbnails") == [.waiting: 1, .ready: 1])
      try harness.complete(try harness.claim("identify")) { _ in
        .failed(class: "permanent", reason: "Unknown.", retryAt: nil)
      }
      // Another stage's runtime is nothing to it.
      stages[1].runtime = "2.0"
      try harness.ledger.configure(stages)
      #expect(try harness.states("identify") == [.failed: 1, .done: 1])
      stages[0].limits = "{\"pixels\":1}"
      try harness.ledger.configure(stages)
      #expect(try harness.states("identify") == [.ready: 1, .done: 1])
    },
    LedgerCheck("What was skipped before its plugin was asked is decided anew for other types") {
      harness in
      var stages = Samples.stages() + [Samples.stage("last", fingerprint: 3, needs: ["thumbnails"])]
      stages[1].accepts = ["image/*", "text/plain"]
      try harness.ledger.configure(stages)
      try harness.add((1...3).map { Samples.asset($0) })
      try harness.finish("identify")
      try harness.complete(try harness.claim("thumbnails", limit: 1), seconds: 0) { _ in
        .skipped(reason: "The plugin does not work on it.")
      }
      try harness.complete(try harness.claim("thumbnails", limit: 1)) { _ in
        .skipped(reason: "It says so itself.")
      }
      try harness.finish("thumbnails")
      stages[1].accepts = ["text/plain", "image/*"]
      stages[1].runtime = "2.0"
      stages[1].limits = "{\"pixels\":1}"
      try harness.ledger.configure(stages)
      #expect(try harness.states("thumbnails") == [.skipped: 2, .done: 1])
      stages[1].accepts = ["image/*"]
      try harness.ledger.configure(stages)
      #expect(try harness.states("thumbnails") == [.ready: 1, .skipped: 1, .done: 1])
      #expect(try harness.states("last") == [.waiting: 1, .skipped: 1, .ready: 1])
      let job = try #require(try harness.job(Samples.id(1), "thumbnails"))
      #expect(job.state == .ready && job.reason == nil && job.attempts == 0)
      try harness.ledger.configure(stages)
      #expect(try harness.states("thumbnails") == [.ready: 1, .skipped: 1, .done: 1])
    },
    LedgerCheck("What the end of the process interrupts is ready again and not counted") {
      harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1)])
      for _ in 1...2 {
        #expect(try harness.claim("identify").map(\.attempt) == [1])
        try harness.restart()
        #expect(try harness.claim("identify").isEmpty)
        try harness.ledger.configure(Samples.stages())
      }
      #expect(try harness.job(Samples.id(1), "identify")?.attempts == 2)
      // Attempts of this process are not ended by a change of the stages.
      let job = try #require(try harness.claim("identify").first)
      #expect(job.attempt == 1 && !job.isSuspect)
      try harness.ledger.configure(Samples.stages(thumbnails: 20))
      #expect(try harness.states("identify") == [.running: 1])
      try harness.complete([job]) { _ in .done(facts: [:], renditions: []) }
      #expect(try harness.states("thumbnails") == [.ready: 1])
    },
    LedgerCheck("A suspect runs alone, and fails if the process ends again") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1), Samples.asset(2)])
      for _ in 1...3 {
        #expect(try harness.claim("identify").count == 2)
        try harness.restart()
        #expect(try harness.ledger.configure(Samples.stages()).isEmpty)
      }
      // However often the computer is switched off, nothing has failed by itself.
      #expect(try harness.states("identify") == [.ready: 2])
      try harness.add([Samples.asset(3)])
      #expect(try harness.claim("identify").map(\.asset) == [Samples.id(3)])
      let one = try harness.claim("identify", limit: 1, suspects: true)
      #expect(one.map(\.asset) == [Samples.id(1)] && one.map(\.isSuspect) == [true])
      try harness.complete(one) { _ in .done(facts: [:], renditions: []) }
      let two = try harness.claim("identify", limit: 1, suspects: true)
      #expect(two.map(\.asset) == [Samples.id(2)])
      try harness.restart()
      let failed = try harness.ledger.configure(Samples.stages())
      #expect(
        failed == [
          JobEvent(
            asset: Samples.id(2), name: Samples.asset(2).name, stage: "identify",
            outcome: .failed, failureClass: "permanent",
            reason: "The program ended 4 times while this job was running.", seconds: 0)
        ])
      #expect(try harness.ledger.configure(Samples.stages()).isEmpty)
      let job = try #require(try harness.job(Samples.id(2), "identify"))
      #expect(job.state == .failed && job.failureClass == "permanent")
      #expect(job.reason == "The program ended 4 times while this job was running.")
      #expect(try harness.job(Samples.id(2), "thumbnails")?.state == .skipped)
      #expect(try harness.job(Samples.id(3), "identify")?.state == .ready)
      #expect(try harness.ledger.retry(assets: nil) == 1)
      #expect(try harness.claim("identify").allSatisfy { !$0.isSuspect })
    },
    LedgerCheck("Suspects come first where they are allowed, others after them") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(5)])
      for _ in 1...3 {
        #expect(try harness.claim("identify").count == 1)
        try harness.restart()
        try harness.ledger.configure(Samples.stages())
      }
      try harness.add([Samples.asset(1), Samples.asset(2)])
      let jobs = try harness.claim("identify", limit: 2, suspects: true)
      #expect(jobs.map(\.isSuspect) == [true, false])
      #expect(jobs.map(\.asset) == [Samples.id(5), Samples.id(1)])
    },
  ]

  static let keeping = [
    LedgerCheck("Renditions lie where they were put, and are moved by policy") { harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1)])
      try harness.finish("identify")
      try harness.finish(
        "thumbnails",
        renditions: [
          Samples.rendition("grid", bytes: 64),
          Samples.rendition("page", path: "r/page", bytes: 900),
        ])
      #expect(
        try harness.ledger.misplacedRenditions(
          stage: "thumbnails", threshold: 64, place: "r", limit: 9
        ).isEmpty)
      #expect(
        try harness.ledger.misplacedRenditions(
          stage: "identify", threshold: 0, place: "r", limit: 9
        ).isEmpty)
      for place in ["q", "r/p", "s3://bucket/r"] {
        let elsewhere = try harness.ledger.misplacedRenditions(
          stage: "thumbnails", threshold: 64, place: place, limit: 9)
        #expect(elsewhere.map(\.path) == ["r/page"] && elsewhere.map(\.bytes) == [900])
      }
      let inward = try harness.ledger.misplacedRenditions(
        stage: "thumbnails", threshold: .max, place: "r", limit: 9)
      #expect(inward.map(\.name) == ["page"] && inward.map(\.path) == ["r/page"])
      #expect(inward.first?.owner == Samples.digest(1).hex)
      #expect(inward.first?.fingerprint == Samples.fingerprint(2))
      let outward = try harness.ledger.misplacedRenditions(
        stage: "thumbnails", threshold: 0, place: "r", limit: 9)
      #expect(outward.map(\.name) == ["grid"])
      #expect(outward.map(\.path) == [nil])
      let id = try #require(outward.first?.id)
      #expect(try harness.ledger.bytes(ofRendition: id) == [UInt8](repeating: 7, count: 64))
      #expect(try harness.ledger.size(ofRendition: id) == 64)
      #expect(try harness.ledger.size(ofRendition: -1) == nil)
      try harness.ledger.relocate(id, to: .file(path: "r/grid"))
      #expect(try harness.bytes(id) == nil)
      #expect(try harness.asset(Samples.id(1))?.renditions.map(\.path) == ["r/grid", "r/page"])
      try harness.ledger.relocate(id, to: .database([1, 2, 3]))
      #expect(try harness.bytes(id) == [1, 2, 3])
      #expect(throws: CatalogError.self) {
        try harness.ledger.relocate(id + 100, to: .file(path: "r/none"))
      }
    },
    LedgerCheck("A rendition whose bytes are gone makes its row ready, not its dependents undone") {
      harness in
      let last = Samples.stage("caption", fingerprint: 3, needs: ["thumbnails"])
      try harness.ledger.configure(Samples.stages() + [last])
      try harness.add([Samples.asset(1), Samples.asset(2)])
      try harness.finish("identify")
      let pair = [
        Samples.rendition("grid", path: "r/1"), Samples.rendition("page", path: "r/2"),
      ]
      try harness.finish("thumbnails", renditions: pair)
      try harness.complete(try harness.claim("caption", limit: 1)) { _ in
        .done(facts: [:], renditions: [])
      }
      for number in [1, 2] {
        let asset = try #require(try harness.asset(Samples.id(number)))
        try harness.ledger.invalidate(rendition: try #require(asset.renditions.first?.id))
      }
      try harness.ledger.invalidate(rendition: 10_000)
      #expect(try harness.states("thumbnails") == [.ready: 2])
      #expect(try harness.states("caption") == [.done: 1, .waiting: 1])
      #expect(try harness.asset(Samples.id(1))?.renditions.map(\.name) == ["page"])
      // The same paths are written again: they are not to be removed.
      let removed = try harness.complete(try harness.claim("thumbnails")) { _ in
        .done(facts: [:], renditions: pair)
      }
      #expect(removed.isEmpty)
      #expect(try harness.states("caption") == [.done: 1, .ready: 1])
      #expect(try harness.asset(Samples.id(1))?.renditions.count == 2)
    },
    LedgerCheck("A rendition that was only served until it is replaced goes with its row") {
      harness in
      try harness.ledger.configure(Samples.stages())
      try harness.add([Samples.asset(1)])
      try harness.finish("identify")
      try harness.finish(
        "thumbnails",
        renditions: [
          Samples.rendition("grid", path: "r/grid"), Samples.rendition("page", path: "r/page"),
        ])
      try harness.ledger.configure(Samples.stages(thumbnails: 20))
      let stale = try #require(try harness.asset(Samples.id(1))?.renditions.first)
      #expect(stale.isStale)
      try harness.ledger.invalidate(rendition: stale.id)
      #expect(try harness.asset(Samples.id(1))?.renditions.isEmpty == true)
      let removed = try harness.complete(try harness.claim("thumbnails")) { _ in
        .done(facts: [:], renditions: [])
      }
      #expect(removed == ["r/page"])
    },
  ]
}
