import Files
import Fixtures
import Foundation
import Hashing
import PipelineModel
import Testing

extension Workspace {
  /// Asks what must be true after every fault and the run that follows it.
  ///
  /// Originals are hashed here and not only by the program, which could be wrong about itself.
  func expectSound(
    _ comment: Comment? = nil, at location: SourceLocation = #_sourceLocation
  ) throws {
    try expectSoundLibrary(comment, at: location)
    if database == nil { #expect(try integrity() == "ok", comment, sourceLocation: location) }
    #expect(try wrongCounters() == [], comment, sourceLocation: location)
    #expect(try wrongRenditions() == [], comment, sourceLocation: location)
  }

  /// The same without what only a catalog of SQLite is asked.
  func expectSoundLibrary(
    _ comment: Comment? = nil, at location: SourceLocation = #_sourceLocation
  ) throws {
    let assets = try assets()
    let recorded = try digests(of: assets)
    // Every record's original exists and hashes to its name, and there is no other.
    var stored: Set<Digest> = []
    for path in try files(below: "library/originals") {
      let digest = SHA256.digest(of: try read(BytePath("library/originals").appending(path)))
      #expect(
        path == BytePath("\(digest.hex.prefix(2))/\(digest.hex)"), comment,
        sourceLocation: location)
      stored.insert(digest)
    }
    #expect(stored == Set(recorded), comment, sourceLocation: location)
    // No source file is lost.
    var present: Set<Digest> = []
    for folder in sourceFolders {
      for path in try files(below: folder.relative(to: root) ?? folder) {
        guard let bytes = try? read(folder.appending(path)) else { continue }
        present.insert(SHA256.digest(of: bytes))
      }
    }
    #expect(
      digests.subtracting(stored).isSubset(of: present), comment, sourceLocation: location)
    // Nothing is left half done.
    #expect(try files(below: "library/incoming") == [], comment, sourceLocation: location)
    #expect(try files(below: "library/work") == [], comment, sourceLocation: location)
    // Of pictures on demand, `.on-demand`, there are empty files that are locked.
    for path in try files(below: "library/renditions") where path.bytes.first != UInt8(ascii: ".") {
      #expect(
        try !read(BytePath("library/renditions").appending(path)).isEmpty, comment,
        sourceLocation: location)
    }
    // The library's own judgement, and the database's.
    let verified = try json("verify", at: location)
    #expect(verified.of("problem") == [], comment, sourceLocation: location)
    #expect(verified.summary["problems"] == 0, comment, sourceLocation: location)
  }

  private func digests(of assets: [JSONValue]) throws -> [Digest] {
    try assets.map { asset in
      let hex = try #require(asset["digest"]?.string)
      return try #require(Digest(hex))
    }
  }

  /// Makes jobs ready that wait after a failure for which the disk was to blame.
  ///
  /// - Returns: how many jobs waited.
  func endDelays() throws -> Int {
    let waiting = try json("failed")
    let events = try json("retry", "--all")
    let retried = try #require(events.of("retried").first?["jobs"]?.integer, "\(events)")
    #expect(events.count == 1, "\(events)")
    #expect(
      waiting.count == retried && waiting.allSatisfy { $0["class"] == "transient" }, "\(waiting)")
    return retried
  }

  /// What SQLite itself says about the catalog.
  private func integrity() throws -> String {
    try query("PRAGMA integrity_check; PRAGMA foreign_key_check;").joined(separator: "\n")
  }

  /// What the catalog counted otherwise than its tables say.
  func wrongCounters() throws -> [String] {
    let counts = [
      "original": "count(*), coalesce(sum(size), 0) FROM original",
      "rendition": "count(*), coalesce(sum(bytes), 0) FROM rendition",
      "asset": "count(*), 0 FROM asset",
      "job": "count(*), 0 FROM job",
      "path": """
      count(*), count(*) FILTER (WHERE state <> 'gone'
        AND (inode IS NOT NULL OR state NOT IN ('imported', 'duplicate', 'returned'))) FROM sighting
      """,
      "impliedPath": """
      count(*), 0 FROM (SELECT DISTINCT source, path FROM asset
        WHERE (source, path) NOT IN (SELECT source, path FROM sighting)) AS implied
      """,
    ]
    return try query(
      counts.sorted { $0.key < $1.key }.map { kind, made in
        """
        SELECT '\(kind)', * FROM (SELECT \(made)) AS made EXCEPT
        SELECT '\(kind)', coalesce(sum(rows), 0), coalesce(sum(amount), 0) FROM counter WHERE kind = '\(kind)';
        """
      }.joined())
  }

  /// What is wrong with the database of renditions: damage, bytes that no row names or that a row
  /// misses, and bytes that are still in the catalog.
  func wrongRenditions() throws -> [String] {
    if database != nil {
      // A foreign key keeps bytes without a row away.
      return try query(
        """
        SELECT 'missing, or not named', name FROM rendition
        LEFT JOIN rendition_bytes ON rendition_bytes.rendition = rendition.id
        WHERE (path IS NULL) <> (rendition_bytes.rendition IS NOT NULL)
        """)
    }
    let named = try query(
      """
      SELECT lower(hex(coalesce(ledger.asset, ledger.digest))) || ' ' || lower(hex(value)) || ' '
        || name || ' ' || bytes
      FROM rendition JOIN ledger ON ledger.id = rendition.ledger
        JOIN fingerprint ON fingerprint.id = ledger.fingerprint
      WHERE path IS NULL
      """)
    var kept: [String] = []
    var problems = try query("SELECT name FROM sqlite_schema WHERE name = 'rendition_bytes'")
    let file = BytePath("renditions.sqlite")
    if FileManager.default.fileExists(
      atPath: (catalogFolder ?? library).appending(file).description)
    {
      problems += try query("PRAGMA integrity_check", of: file).filter { $0 != "ok" }
      kept = try query(
        """
        SELECT lower(hex(owner)) || ' ' || lower(hex(fingerprint)) || ' ' || name || ' '
          || length(content) FROM rendition
        """, of: file)
    }
    return problems + Set(named).subtracting(kept).sorted().map { "missing \($0)" }
      + Set(kept).subtracting(named).sorted().map { "unnamed \($0)" }
  }

  /// Asks the catalog, or another database beside it, by the engine's own shell; a line for each row.
  func query(_ sql: String, of file: BytePath = "catalog.sqlite") throws -> [String] {
    try shell(
      sql, database: "default_transaction_read_only=on", options: ["-readonly"], file: file)
  }

  /// Changes the catalog behind the program's back, without what the program's triggers would do.
  @discardableResult
  func change(_ sql: String) throws -> [String] {
    try shell(
      sql, database: "session_replication_role=replica", options: [], file: "catalog.sqlite")
  }

  private func shell(
    _ sql: String, database setting: String, options: [String], file: BytePath
  ) throws -> [String] {
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    if let database {
      shell.arguments = [
        "PGOPTIONS=-c search_path=pipeline -c \(setting)", "psql", "-XqAt", "-v",
        "ON_ERROR_STOP=1", database.uri, "-c", sql,
      ]
    } else {
      let catalog = (catalogFolder ?? library).appending(file).description
      shell.arguments = (disk?.prefix ?? []) + ["sqlite3"] + options + [catalog, sql]
    }
    let output = Pipe()
    shell.standardOutput = output
    try shell.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    shell.waitUntilExit()
    try #require(shell.terminationStatus == 0, "\(sql): \(text)")
    return text.split(separator: "\n").map(String.init)
  }

  /// Whether counters add up to the paths that a run told of.
  func expectCountersAddUp(
    _ events: [JSONValue], at location: SourceLocation = #_sourceLocation
  ) {
    let summary = events.summary
    let names = ["imported", "duplicates", "ignored", "rejected", "settling", "failed", "gone"]
    let sum = names.reduce(0) { $0 + (summary[$1]?.integer ?? -1000) }
    #expect(sum == events.of("file").count, sourceLocation: location)
    for (counter, outcome) in [
      ("jobsDone", "done"), ("jobsSkipped", "skipped"), ("jobsFailed", "failed"),
    ] {
      let count = events.of("job").count { $0["outcome"]?.string == outcome }
      #expect(summary[counter]?.integer == count, "\(counter)", sourceLocation: location)
    }
    for (counter, outcome) in [("imported", "imported"), ("duplicates", "duplicate")] {
      let count = events.of("file").count { $0["outcome"]?.string == outcome }
      #expect(summary[counter]?.integer == count, "\(counter)", sourceLocation: location)
    }
  }

  /// All that a library has come to, without what differs from run to run: keys, times and attempts.
  ///
  /// Two libraries that took the same files have the same lines.
  func state() throws -> [String] {
    var lines: [String] = []
    for asset in try assets() {
      let name = text(asset["nameBase64"] ?? asset["name"])
      lines.append(
        "asset \(name) "
          + ["digest", "size", "mediaType", "width", "height", "orientation", "state"]
          .map { text(asset[$0]) }.joined(separator: " "))
      for rendition in asset["renditions"]?.array ?? [] {
        lines.append(
          "rendition \(name) "
            + ["stage", "name", "mediaType", "width", "height", "digest", "storage", "stale"]
            .map { text(rendition[$0]) }.joined(separator: " "))
      }
    }
    // One question instead of a process for each asset: this is asked thousands of times.
    lines += try query(
      """
      SELECT 'job ' || replace(name, '\n', '?') || ' ' || stage || ' ' || state FROM jobs;
      SELECT 'path ' || replace(path, '\n', '?') || ' ' || state FROM sightings;
      SELECT 'said ' || replace(CAST(name AS TEXT), '\n', '?') || ' ' || property || ' ' || text
        || ' ' || applies FROM annotation JOIN asset ON asset.id = annotation.asset;
      """)
    for folder in ["inbox", "library/duplicates", "library/damaged"] {
      for path in try files(below: BytePath(folder)) {
        lines.append("file \(folder) \(path.lastComponent.printable)")
      }
    }
    // In a database, a file's name has the number of its attempt.
    let attempt = try Regex(#"\.\d+(?=\.[a-z]+$)"#)
    lines += try files(below: "library/renditions").map { path in
      "file \(database == nil ? path.printable : path.printable.replacing(attempt, with: ""))"
    }
    return lines.sorted()
  }

  private func text(_ value: JSONValue?) -> String {
    value.flatMap { try? JSONText.encode($0) } ?? "-"
  }
}
