import Foundation
import PipelineModel
import Records
import Testing

@testable import Catalog

/// What people see who open the catalog with other programs.
@Suite("From outside", .timeLimit(.minutes(2)))
struct ShellTests {
  /// Runs a program and returns what it wrote.
  private func run(_ program: String, _ arguments: [String]) throws -> (
    status: Int32, output: String
  ) {
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }

  private func makeLibrary() throws -> Library {
    let library = try Library()
    let run = RunRecord(
      id: Samples.id(900), verb: "run", startedAt: Samples.start, counters: ["imported": 1])
    try library.catalog.beginRun(run)
    try library.catalog.endRun(run.id, counters: ["imported": 1], at: Samples.start)
    try library.catalog.configure(Samples.stages())
    var asset = Samples.asset(1)
    asset.run = run.id
    try library.add([asset, Samples.asset(2)])
    try library.catalog.apply(
      [
        .sighting(
          Sighting(
            source: Samples.source, path: asset.path, state: .imported, asset: asset.id,
            reason: "It is new.", seenAt: Samples.start))
      ], manifestPosition: 3)
    let jobs = try library.catalog.claim(stage: "identify", limit: 2, suspects: false)
    _ = try library.catalog.complete([
      Completion(
        token: jobs[0].token, outcome: .done(facts: ["width": 12], renditions: []), seconds: 0.5),
      Completion(
        token: jobs[1].token, outcome: .failed(class: "permanent", reason: "No.", retryAt: nil),
        seconds: 0.5),
    ])
    let next = try library.catalog.claim(stage: "thumbnails", limit: 2, suspects: false)
    _ = try library.catalog.complete(
      next.map {
        Completion(
          token: $0.token, outcome: .done(facts: [:], renditions: [Samples.rendition("grid")]),
          seconds: 1)
      })
    return library
  }

  @Test("The view of metadata has a row for each value, list item and language")
  func metadata() throws {
    let library = try Library()
    try library.catalog.configure([
      Samples.stage("record", plugin: "metadata", fingerprint: 1),
      Samples.stage("other", fingerprint: 2),
    ])
    try library.add([Samples.asset(1), Samples.asset(2, digest: 1)])
    let facts: JSONValue = [
      "exif": ["FNumber": 2.8, "Make": "Canon \"x\"", "LensSpecification": [24, .null]],
      "iptc": ["Keywords": ["a", "b"], "Byline": []],
      "xmp": ["dc:title": ["x-default": "T"], "xmpRights:Marked": true],
      "problem": "A sentence.", "leftOut": 3,
    ]
    for stage in ["record", "other"] {
      let jobs = try library.catalog.claim(stage: stage, limit: 9, suspects: false)
      _ = try library.catalog.complete(
        jobs.map {
          Completion(token: $0.token, outcome: .done(facts: facts, renditions: []), seconds: 1)
        })
    }
    let query = """
      SELECT stage, family, name, ifnull(ordinal, ''), ifnull(language, ''), ifnull(value, 'none')
      FROM metadata WHERE asset = '\(Samples.id(2))' ORDER BY family, name, ordinal
      """
    let found = try library.catalog.read { (connection) throws(CatalogError) in
      try connection.all(query) { row in
        (0..<6).map { row.text($0) }.joined(separator: "|")
      }
    }
    #expect(
      found == [
        "record|exif|FNumber|||2.8", "record|exif|LensSpecification|1||24",
        "record|exif|LensSpecification|2||none", "record|exif|Make|||Canon \"x\"",
        "record|iptc|Keywords|1||a", "record|iptc|Keywords|2||b",
        "record|xmp|dc:title||x-default|T", "record|xmp|xmpRights:Marked|||1",
      ])
    // Both assets share the bytes, and so the row of the ledger.
    #expect(try library.count("SELECT count(DISTINCT asset) FROM metadata") == 2)
  }

  private static let queries = [
    "SELECT id, name, size, source, path, modified_at, permissions, imported_at, state, run FROM assets ORDER BY id LIMIT 1",
    "SELECT source, path, state, reason, asset, seen_at FROM sightings",
    "SELECT stage, state, attempts, class, reason FROM jobs WHERE asset = (SELECT max(id) FROM assets) ORDER BY ledger",
    "SELECT asset, stage, name, media_type, width, height, bytes, storage, stale FROM renditions",
    "SELECT stage, outcome, seconds, runtime FROM attempts ORDER BY id",
    "SELECT asset, stage, key, value FROM facts",
    "SELECT asset, name, stage, class, reason, attempts FROM failures",
    "SELECT id, verb, started_at, ended_at, counters FROM runs",
  ]

  private static var rows: [String] {
    let (one, two, run) = (Samples.id(1), Samples.id(2), Samples.id(900))
    return [
      "\(one)|IMG_1.jpg|1001|/pictures/inbox|a/IMG_1.jpg|2020-09-13T12:26:40.000Z|0640|2023-11-14T22:13:21.123Z|done|\(run)",
      "/pictures/inbox|a/IMG_1.jpg|imported|It is new.|\(one)|2023-11-14T22:13:20.123Z"
        + "\n/pictures/inbox|a/IMG_2.jpg|imported||\(two)|2023-11-14T22:13:22.123Z",
      "identify|failed|1|permanent|No.\nthumbnails|skipped|0||The stage “identify”, which this one needs, failed: No.",
      "\(one)|thumbnails|grid|image/jpeg|256|171|64|database|0",
      "identify|done|0.5|1.0\nidentify|failed|0.5|1.0\nthumbnails|done|1.0|1.0",
      "\(one)|identify|width|12",
      "\(two)|IMG_2.jpg|identify|permanent|No.|1",
      "\(run)|run|2023-11-14T22:13:20.123Z|2023-11-14T22:13:20.123Z|{\"imported\":1}",
    ]
  }

  @Test("The views read well with SQLite's own shell, beside the writer")
  func shell() throws {
    let shell = "/usr/bin/sqlite3"
    try #require(FileManager.default.isExecutableFile(atPath: shell), "sqlite3 is not installed")
    let library = try makeLibrary()
    for (query, rows) in zip(Self.queries, Self.rows) {
      let answer = try run(shell, ["-readonly", library.file.description, query])
      #expect(answer.status == 0)
      #expect(answer.output == rows + "\n", "\(query)")
    }
    let check = try run(shell, ["-readonly", library.file.description, "PRAGMA integrity_check"])
    #expect(check.output == "ok\n")
  }

  @Test("The views read well by a connection that does not trust the schema")
  func views() throws {
    let library = try makeLibrary()
    for (query, rows) in zip(Self.queries, Self.rows) {
      let found = try library.catalog.read { (connection) throws(CatalogError) in
        let statement = try connection.preparedStatement(query)
        let columns = rows.prefix { $0 != "\n" }.split(separator: "|").count
        defer { statement.reset() }
        var lines: [String] = []
        while try statement.step() {
          lines.append(
            (0..<columns).map { statement.text($0) }.joined(separator: "|"))
        }
        return lines.joined(separator: "\n")
      }
      #expect(found == rows, "\(query)")
    }
  }

  @Test("A catalog in a folder that can't be written is read in immutable mode")
  func readOnlyFolder() async throws {
    let library = try makeLibrary()
    try library.close()
    let (folder, file) = (library.folder.path, library.file.description)
    let manager = FileManager.default
    try manager.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder)
    defer { try? manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder) }
    await #expect(processExitsWith: .success) { [file = file as String] in
      // The superuser may write anywhere.
      if geteuid() == 0 { try #require(setuid(65_534) == 0) }
      let reader = try CatalogReader.open(at: BytePath(file), immutable: true)
      try #require(try reader.status().assets == 2)
      try reader.close()
      let error = #expect(throws: CatalogError.self) {
        _ = try CatalogReader.open(at: BytePath(file), immutable: false)
      }
      try #require(error?.code == .readOnly)
      let writing = #expect(throws: CatalogError.self) {
        _ = try Catalog.open(at: BytePath(file), libraryID: Library.id)
      }
      try #require(writing?.code == .readOnly)
    }
    #expect(
      try manager.contentsOfDirectory(atPath: folder).sorted() == [
        "catalog.sqlite", "renditions.sqlite",
      ])
  }

  @Test("What is in the log only is not passed over in immutable mode")
  func immutableWithLog() async throws {
    let library = try makeLibrary()
    // As a snapshot of the file system would have it, while the writer is at work.
    let copy = library.folder.appending(path: "copy")
    try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
    for name in ["catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"] {
      try FileManager.default.copyItem(
        at: library.folder.appending(path: name), to: copy.appending(path: name))
    }
    let manager = FileManager.default
    try manager.setAttributes([.posixPermissions: 0o555], ofItemAtPath: copy.path)
    defer { try? manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: copy.path) }
    let file = copy.appending(path: "catalog.sqlite").path
    await #expect(processExitsWith: .success) { [file = file as String] in
      if geteuid() == 0 { try #require(setuid(65_534) == 0) }
      let reader = try CatalogReader.open(at: BytePath(file), immutable: true)
      try #require(try reader.status().assets == 2)
      try reader.close()
    }
    try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: copy.path)
    try manager.removeItem(at: copy.appending(path: "catalog.sqlite-shm"))
    try manager.setAttributes([.posixPermissions: 0o555], ofItemAtPath: copy.path)
    await #expect(processExitsWith: .success) { [file = file as String] in
      if geteuid() == 0 { try #require(setuid(65_534) == 0) }
      let error = #expect(throws: CatalogError.self) {
        _ = try CatalogReader.open(at: BytePath(file), immutable: true)
      }
      try #require(error?.code == .readOnly)
      try #require(error?.message.contains("-wal") == true)
    }
  }
}
