import Fixtures
import PipelineModel
import Query
import Records
import Testing

@testable import Catalog

/// Texts that are longer than what an entry of an index may have.
@Suite("Long texts", .onEachDatabase, .timeLimit(.minutes(5)))
struct LongTextTests {
  /// A text that can't be compressed to much less.
  private func text(_ length: Int, seed: UInt64) -> String {
    var random = SeededRandom(seed: seed)
    let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    return String((0..<length).map { _ in letters[Int.random(in: 0..<62, using: &random)] })
  }

  private func found(_ library: Library, _ filter: Filter) throws -> [AssetID] {
    try library.read { try $0.find(AssetQuestion(filter)) ?? [] }
  }

  @Test("Captions, keywords, tags, lenses and versions of any length are recorded and found")
  func long() throws {
    let library = try Library()
    let stages = [
      Samples.stage("identify", fingerprint: 1),
      Samples.stage(
        "metadata", fingerprint: 2, needs: ["identify"], runtime: text(5_000, seed: 1),
        limits: "{\"a\":\"\(text(5_000, seed: 2))\"}"),
    ]
    try library.catalog.configure(stages)
    try library.catalog.configure(stages)
    try library.add([Samples.asset(1), Samples.asset(2)])
    let (keyword, lens, caption, tag) = (
      text(16_000, seed: 3), text(10_000, seed: 4), text(10_000, seed: 5), text(900, seed: 6)
    )
    for stage in ["identify", "metadata"] {
      let jobs = try library.catalog.claim(stage: stage, limit: 10, suspects: false)
      let facts: JSONValue = [
        "exif": ["LensModel": .string(lens)],
        "xmp": ["dc:subject": [.string(keyword)], "dc:description": .string(caption)],
      ]
      _ = try library.catalog.complete(
        jobs.map {
          Completion(
            token: $0.token,
            outcome: .done(facts: stage == "metadata" ? facts : [:], renditions: []),
            seconds: 1)
        })
    }
    for _ in 0..<2 {
      try library.catalog.apply(
        [
          .annotated(Samples.id(1), Annotation(.tag, tag)),
          .annotated(Samples.id(1), Annotation(.caption, caption + "!")),
        ], manifestPosition: 0)
    }
    #expect(try library.count("SELECT count(*) FROM annotation") == 2)
    #expect(try found(library, .text(.tag, .equals(keyword))).count == 2)
    #expect(try found(library, .text(.lens, .equals(lens))).count == 2)
    #expect(try found(library, .text(.tag, .equals(tag))) == [Samples.id(1)])
    #expect(try found(library, .text(.caption, .equals(caption))) == [Samples.id(2)])
    #expect(try library.integrity() == "ok")
    try library.reopen()
  }
}
