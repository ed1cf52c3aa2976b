import Fixtures
import Foundation
import Hashing
import PipelineModel
import Query
import Records

@testable import Catalog

/// A library with something in every table, and places to move its catalog to.
struct MovingLibrary {
  let library: Library

  /// - Parameter hasNull: whether some of its texts have U+0000.
  init(hasNull: Bool = false) throws {
    var random = SeededRandom(seed: 7)
    library = try TestedDatabase.$isCompared.withValue(!hasNull) {
      try DescribedLibrary(120, using: &random).library
    }
    let catalog = library.catalog
    try addRun()
    try library.add([Samples.asset(901), Samples.asset(902, digest: 901), Samples.asset(903)])
    try catalog.apply(
      [
        .purged(Samples.id(903), sequence: 7), .returned(Samples.id(902), Self.sighting("back")),
        .sighting(Self.sighting("x/\u{e9}", .duplicate)), .sighting(Self.sighting("gone", .gone)),
      ], manifestPosition: 1_234)
    try catalog.set("user", to: "a text")
    try addBurst()
    try addRenditions()
    try library.execute(
      "INSERT INTO discarded_file SELECT 'renditions/x', id, value, NULL FROM fingerprint WHERE id = 1"
    )
    // Numbers that were given, and whose rows are gone.
    try library.execute("UPDATE sqlite_sequence SET seq = seq + 5")
  }

  private func addRun() throws {
    let catalog = library.catalog
    for number in [910, 911] {
      try catalog.beginRun(
        RunRecord(id: Samples.id(number), verb: "run", startedAt: Samples.start, counters: [:]))
    }
    try catalog.endRun(Samples.id(910), counters: ["a": 1], at: .now)
    var asset = Samples.asset(904)
    asset.run = Samples.id(910)
    try library.add([asset])
    // By a clock that went back: an asset that a key before its own supersedes.
    try library.execute(
      """
      UPDATE asset SET supersedes = (SELECT max(id) FROM asset)
      WHERE id = (SELECT min(id) FROM asset)
      """)
  }

  private func addBurst() throws {
    let files = (0..<3).map { number in
      var file = SampleFile(
        number: 920 + number, name: "IMG_\(100 + number).JPG", type: "image/jpeg",
        taken: "2024-05-01T12:00:0\(number)", camera: "iPhone 12")
      file.metadata["burstIdentifier"] = "65A7DF0A-1F09-4600-917B-9572A16AD016"
      return file
    }
    try library.take(files)
  }

  /// Renditions that are what their rows say, unlike those of other tests.
  private func addRenditions() throws {
    let jobs = try library.catalog.claim(stage: "thumbnails", limit: 12, suspects: false)
    _ = try library.catalog.complete(
      jobs.dropLast(2).enumerated().map { number, job in
        let path = number == 0 ? "renditions/thumbnails/0" : nil
        return Completion(
          token: job.token,
          outcome: .done(facts: [:], renditions: [Self.rendition(number, path: path)]), seconds: 1)
      })
    // The others have bytes of another digest.
    try library.execute("DELETE FROM rendition WHERE bytes < 1000")
  }

  static func rendition(_ number: Int, path: String? = nil) -> NewRendition {
    let bytes = [UInt8](repeating: UInt8(number), count: 1_000 + number)
    return NewRendition(
      name: "grid", mediaType: "image/jpeg", width: 1, height: 1, bytes: bytes.count,
      digest: SHA256.digest(of: bytes), from: nil,
      content: path.map { .file(path: $0) } ?? .database(bytes))
  }

  private static func sighting(
    _ path: String, _ state: Sighting.State = .returned
  ) -> Sighting {
    Sighting(
      source: Samples.source, path: BytePath(path), state: state,
      identity: FileIdentity(inode: .max, size: 1, modified: -1_600_000_000_000, changed: 1),
      reason: "Why.", seenAt: Samples.start, awaitsRemoval: true)
  }
}

/// Moves a catalog, and leaves the former one where it was.
@discardableResult
func move(_ place: CatalogPlace, to target: CatalogPlace) throws -> CatalogCopy.Result {
  let source = try CatalogSource(place, libraryID: Library.id)
  defer { source.close() }
  let draft = try Catalog.create(at: target, libraryID: Library.id, isDraft: true)
  do {
    let result = try CatalogCopy(from: source, to: draft, isStopped: { false }) { _ in }.run()
    try source.requireHeld()
    try draft.finishDraft()
    return result
  } catch {
    try draft.discardDraft()
    throw error
  }
}

extension Library {
  /// A library that opens a catalog which is there.
  convenience init(opening place: CatalogPlace) throws {
    try self.init(at: place) { try Catalog.open(at: $0, libraryID: Self.id) }
  }

  /// A place for a file, which goes with the library.
  func makePlace() throws -> CatalogPlace {
    let other = folder.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
    return .file(Self.file(in: other))
  }

  /// All rows of all tables of an SQLite file, as its shell would quote them.
  static func dump(_ place: CatalogPlace) throws -> [String: [String]] {
    let connection = try Connection.reading(place)
    defer { connection.close() }
    let tables = try connection.all("SELECT name FROM sqlite_schema WHERE type = 'table'") {
      $0.text(0)
    }
    var rows: [String: [String]] = [:]
    for table in tables {
      let columns = try connection.all(Self.columns(of: table, connection)) { $0.text(0) }
      let list = columns.map { "quote(\($0))" }.joined(separator: " || ', ' || ")
      rows[table] = try connection.all("SELECT \(list) FROM \(table)") { $0.text(0) }.sorted()
    }
    return rows
  }
}
