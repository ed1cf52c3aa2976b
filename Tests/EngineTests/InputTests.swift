import Catalog
import Configuration
import Dispatch
import Files
import Fixtures
import Glibc
import PipelineModel
import PipelinePlugin
import Records
import Testing

@testable import Engine

/// Stages that work on a rendition of another stage instead of the original.
@Suite("Renditions as input", .timeLimit(.minutes(1)))
struct InputTests {
  private let fixture: EngineFixture

  init() throws { fixture = try EngineFixture() }

  /// A plugin that makes a rendition `preview` of its name and the file's bytes; none of a file of four
  /// bytes, and it skips those of `skipped` bytes.
  private func maker(_ id: String, skipping sizes: Set<Int> = []) -> FakeBackend {
    FakeBackend(FakeBackend.manifest(id)) { request, _ in
      if sizes.contains(request.asset.size) { return .skipped(reason: "Not for \(id).") }
      if request.asset.size == 4 { return .done() }
      let text = "\(id) of \(Self.content(request.input))"
      writeOutput(Array(text.utf8), "p", request)
      return .done(renditions: [rendition("preview", at: "p")])
    }
  }

  /// A plugin that returns what its input is.
  private func reader(accepts: [String]? = nil) -> FakeBackend {
    FakeBackend(FakeBackend.manifest("reader", accepts: accepts)) { request, _ in
      .done(facts: ["text": .string(Self.content(request.input))])
    }
  }

  private static func content(_ path: String) -> String {
    let path = BytePath(path)
    let bytes = try? Descriptor.openFolder(path.parent).readFile(path.lastComponent, limit: 1 << 20)
    return bytes.map { String(decoding: $0, as: UTF8.self) } ?? "nothing"
  }

  private func stage(_ input: String..., needs: [String] = []) -> StageConfiguration {
    .stage("r", "reader", needs: needs) {
      $0.input = input.compactMap { RenditionReference($0) }
    }
  }

  private func text(of asset: AssetID) throws -> String? {
    try fixture.jobs(of: asset)["r"]?.facts?["text"]?.string
  }

  @Test(
    "A stage gets a rendition of another stage, described as if it were the original",
    arguments: [StageConfiguration.Storage.database, .file])
  func given(storage: StageConfiguration.Storage) throws {
    let asset = try fixture.add("raw bytes")
    let identify = FakeBackend.identify([
      "mediaType": "image/x-raw", "width": 6000, "height": 4000, "orientation": 6,
      "decodeBytes": ["whole": 1], "capturedAt": "2024-05-06",
    ])
    let reader = reader(accepts: ["image/jpeg"])
    let stages: [StageConfiguration] = [
      .stage("identify", "identify"), .stage("m", "maker") { $0.storage = storage },
      stage("m/preview"),
    ]
    let events = try fixture.run(stages, [identify, maker("maker"), reader])
    #expect(events.allSatisfy { $0.outcome == .done }, "\(events)")
    #expect(try text(of: asset) == "maker of raw bytes")
    let request = try #require(reader.requests.first)
    let made = try #require(try fixture.renditions(of: asset).first)
    #expect((made.path == nil) == (storage == .database))
    #expect(
      request.rendition
        == PluginRequest.Rendition(
          stage: "m", name: "preview", mediaType: "image/jpeg", width: 3, height: 2,
          digest: made.digest))
    #expect(request.asset.size == 9 && request.asset.digest != made.digest)
    #expect(
      request.facts["identify"] == [
        "mediaType": "image/jpeg", "width": 3, "height": 2, "orientation": 1, "pages": 1,
        "capturedAt": "2024-05-06",
      ])
    #expect(try fixture.files("work").isEmpty)
    #expect(try fixture.run(stages, [identify, maker("maker"), reader]).isEmpty)
  }

  @Test("An asset without the rendition is skipped with a sentence, without the plugin being asked")
  func without() throws {
    let asset = try fixture.add("none")
    let reader = reader()
    let events = try fixture.run(
      [.stage("m", "maker"), stage("m/preview")], [maker("maker"), reader])
    let event = try #require(events.last)
    #expect(event.stage == "r" && event.outcome == .skipped && reader.jobs == 0)
    #expect(event.reason == "It has no rendition “m/preview”, which this stage works on.")
    #expect(try fixture.jobs(of: asset)["r"]?.failureClass == "transient")
    #expect(try fixture.jobs(of: asset)["m"]?.state == .done)
  }

  @Test("Of several renditions a stage gets the first that an asset has")
  func alternatives() throws {
    let both = try fixture.add("both makers")
    let second = try fixture.add("second")
    let neither = try fixture.add("neither")
    let reader = reader()
    let stages: [StageConfiguration] = [
      .stage("a", "a"), .stage("b", "b"), stage("a/preview", "b/preview"),
    ]
    try fixture.run(stages, [maker("a", skipping: [6, 7]), maker("b", skipping: [7]), reader])
    #expect(try text(of: both) == "a of both makers")
    #expect(try text(of: second) == "b of second")
    let job = try #require(try fixture.jobs(of: neither)["r"])
    #expect(job.state == .skipped && reader.jobs == 2)
    #expect(job.reason?.contains("which this one needs, was skipped: Not for") == true)
    // One that is needed for itself must be done.
    let other = try EngineFixture()
    let asset = try other.add("second")
    let strict: [StageConfiguration] = [
      .stage("a", "a"), .stage("b", "b"), stage("a/preview", "b/preview", needs: ["a", "b"]),
    ]
    try other.run(strict, [maker("a", skipping: [6, 7]), maker("b", skipping: [7]), reader])
    #expect(try other.jobs(of: asset)["r"]?.state == .skipped)
  }

  @Test("An alternative that may still be made is waited for")
  func waiting() throws {
    let asset = try fixture.add("some")
    let failing = FakeBackend(FakeBackend.manifest("a")) { _, _ in
      .failed(PluginFailure(.transient, "Full."))
    }
    let stages: [StageConfiguration] = [
      .stage("a", "a"), .stage("b", "b"), stage("a/preview", "b/preview"),
    ]
    try fixture.run(stages, [failing, maker("b"), reader()])
    #expect(try fixture.jobs(of: asset)["r"]?.state == .waiting)
  }

  @Test(
    "A damaged or missing rendition is made again, and never used",
    arguments: ["damaged", "missing"])
  func damaged(kind: String) throws {
    let asset = try fixture.add("original")
    let maker = maker("maker")
    let making: [StageConfiguration] = [.stage("m", "maker") { $0.storage = .file }]
    try fixture.run(making, [maker])
    let made = try #require(try fixture.renditions(of: asset).first)
    let path = fixture.temporary.appending(BytePath(try #require(made.path)))
    let folder = try Descriptor.openFolder(path.parent)
    try folder.remove(path.lastComponent)
    if kind == "damaged" {
      try folder.writeDurably(Array("maker of 0riginal".utf8), as: path.lastComponent)
    }
    let reader = reader()
    let events = try fixture.run(making + [stage("m/preview")], [maker, reader])
    #expect(events.map(\.stage) == ["m", "r"] && events.allSatisfy { $0.outcome == .done })
    #expect(try text(of: asset) == "maker of original" && reader.jobs == 1 && maker.jobs == 2)
    #expect(fixture.report.warnings.contains { $0.contains("“m/preview” of “1.jpg” is damaged") })
    #expect(try fixture.renditions(of: asset).first?.digest == made.digest)
  }

  @Test("A rendition that is damaged whenever it is made fails the job with a sentence")
  func damagedAgain() throws {
    let asset = try fixture.add("original")
    let (maker, reader) = (maker("maker"), reader())
    let plan = try fixture.plan(
      [.stage("m", "maker") { $0.storage = .database }, stage("m/preview")], [maker, reader])
    let engine = try fixture.engine(plan, ledger: DamagingLedger(ledger: fixture.catalog))
    defer { engine.close() }
    try engine.drain { false }
    let job = try #require(try fixture.jobs(of: asset)["r"])
    #expect(job.failureClass == "transient" && reader.jobs == 0 && maker.jobs == 2)
    #expect(job.reason?.contains("“m/preview”, which this stage works on, is damaged") == true)
  }

  @Test("A job that is stopped while its input is copied is given back")
  func stoppedWhileCopying() throws {
    let asset = try fixture.add("original")
    let (maker, reader) = (maker("maker"), reader())
    let plan = try fixture.plan(
      [.stage("m", "maker") { $0.storage = .database }, stage("m/preview")], [maker, reader])
    let ledger = StoppedLedger(ledger: fixture.catalog)
    let engine = try fixture.engine(plan, ledger: ledger)
    defer { engine.close() }
    engine.wake()
    ledger.hasBegun.wait()
    // Not waiting for the job yet, whose copy goes on only then.
    engine.stop(deadline: .now)
    ledger.mayGoOn.signal()
    engine.stop(deadline: .now + .seconds(30))
    #expect(engine.activity == .idle && reader.jobs == 0 && fixture.report.warnings.isEmpty)
    let job = try #require(try fixture.jobs(of: asset)["r"])
    #expect(job.state == .ready && job.attempts == 0)
    #expect(try fixture.files("work").isEmpty && maker.jobs == 1)
  }

  @Test("A fingerprint covers which renditions a stage works on, and how they are made")
  func fingerprints() throws {
    func fingerprint(_ stage: StageConfiguration, size: Int = 1) throws -> Fingerprint? {
      let stages: [StageConfiguration] = [
        .stage("a", "a") { $0.options = ["size": .integer(size)] }, .stage("b", "b"), stage,
      ]
      return try fixture.plan(stages, [maker("a"), maker("b"), reader()]).stages
        .first { $0.name == "r" }?.definition.fingerprint
    }
    let all = try [
      fingerprint(stage(needs: ["a"])), fingerprint(stage("a/preview")),
      fingerprint(stage("a/preview"), size: 2), fingerprint(stage("a/other")),
      fingerprint(stage("a/preview", "b/preview")), fingerprint(stage("b/preview", "a/preview")),
    ]
    #expect(Set(all).count == 6 && !all.contains(nil))
  }

  @Test("A rendition that its stage does not make is refused with the nearest one")
  func unknown() throws {
    var manifest = FakeBackend.manifest("maker")
    manifest.renditions = ["/list/*/n", "/name", "large"]
    let maker = FakeBackend(manifest) { _, _ in .done() }
    manifest.id = "plain"
    manifest.makesRenditions = false
    let plain = FakeBackend(manifest) { _, _ in .done() }
    func problem(_ input: String...) -> ConfigurationError? {
      do {
        var reader = stage()
        reader.input = input.compactMap { RenditionReference($0) }
        _ = try fixture.plan(
          [.stage("m", "maker"), .stage("p", "plain"), reader], [maker, plain, self.reader()])
        return nil
      } catch let errors as ConfigurationErrors {
        return errors.errors.first
      } catch {
        return nil
      }
    }
    #expect(problem("m/large") == nil && problem("m/x") == nil)
    let misspelled = problem("m/x", "m/larg")
    #expect(misspelled?.code == .unknownRendition && misspelled?.pointer == "/stages/2/input/1")
    #expect(misspelled?.message.hasSuffix("“larg”; did you mean “large”?") == true)
    let none = problem("p/large")
    #expect(none?.message == "The stage “p” makes no renditions.")
    #expect(none?.pointer == "/stages/2/input")
  }
}

/// A ledger from which renditions come damaged, and not before a test lets them.
private struct StoppedLedger: WrappedLedger {
  let ledger: any Ledger
  let hasBegun = DispatchSemaphore(value: 0)
  let mayGoOn = DispatchSemaphore(value: 0)

  func bytes(ofRendition id: Int64) throws(CatalogError) -> [UInt8]? {
    hasBegun.signal()
    mayGoOn.wait()
    return [0]
  }
}

/// A ledger from which renditions come damaged.
private struct DamagingLedger: WrappedLedger {
  let ledger: any Ledger

  func bytes(ofRendition id: Int64) throws(CatalogError) -> [UInt8]? { [0] }
}
