import Foundation
import PipelineModel
import Records

@testable import Catalog

extension Library {
  var renditionFile: BytePath { BytePath(folder.path).appending("renditions.sqlite") }

  /// The keys in the database of renditions, read by a connection of its own; none without the file. Those
  /// of the table, if the catalog itself has the bytes.
  func keptKeys() throws -> [RenditionKey] {
    if case .database = place {
      return try keys("JOIN rendition_bytes ON rendition = rendition.id")
    }
    guard FileManager.default.fileExists(atPath: renditionFile.description) else { return [] }
    let connection = try Connection(renditionFile, mode: .read, of: .renditions)
    defer { connection.close() }
    return try connection.keptRenditions(after: nil, limit: 1_000_000)
  }

  /// The keys that rows without a file name, in order.
  func namedKeys() throws -> [RenditionKey] { try keys("WHERE rendition.path IS NULL") }

  private func keys(_ condition: String) throws -> [RenditionKey] {
    try catalog.read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT \(RenditionKey.columns) FROM rendition JOIN ledger ON ledger.id = rendition.ledger
          JOIN fingerprint ON fingerprint.id = ledger.fingerprint \(condition) ORDER BY 1, 2, 3
        """
      ) { (row) throws(CatalogError) in try row.renditionKey(0) }
    }
  }

  /// The rows of renditions.
  func renditions() throws -> [RenditionRecord] {
    try read { try $0.renditions(after: 0, limit: 1_000) }
  }

  /// Runs all ready jobs of a stage; each makes some renditions in the database, whose bytes tell the
  /// original and the name.
  func render(_ names: [String], stage: String = "thumbnails", mark: UInt8 = 0) throws {
    let jobs = try catalog.claim(stage: stage, limit: 100, suspects: false)
    _ = try catalog.complete(
      jobs.map { job in
        Completion(
          token: job.token,
          outcome: .done(
            facts: [:], renditions: names.map { Self.made(of: job.digest, $0, mark: mark) }),
          seconds: 1)
      })
  }

  static func made(of digest: Digest, _ name: String, mark: UInt8 = 0) -> NewRendition {
    let bytes = digest.bytes + Array(name.utf8) + [UInt8](repeating: mark, count: 9_000)
    return NewRendition(
      name: name, mediaType: "image/jpeg", width: 1, height: 1, bytes: bytes.count,
      digest: digest, from: nil, content: .database(bytes))
  }

  /// A library with so many assets, each with renditions of some names.
  static func rendered(_ count: Int, _ names: [String] = ["grid"]) throws -> Library {
    let library = try Library()
    try library.catalog.configure(Samples.stages())
    try library.add((1...count).map { Samples.asset($0) })
    for job in try library.catalog.claim(stage: "identify", limit: 100, suspects: false) {
      _ = try library.catalog.complete([
        Completion(token: job.token, outcome: .done(facts: [:], renditions: []), seconds: 1)
      ])
    }
    try library.render(names)
    return library
  }

  /// Makes the catalog one of version 10, with the bytes of renditions in it; the other file is gone.
  func makeBytesFormer() throws {
    try dropBursts()
    try catalog.write { (writer) throws(CatalogError) in
      let connection = writer.connection
      try connection.executeScript(
        """
        CREATE TABLE rendition_bytes (
          rendition INTEGER PRIMARY KEY REFERENCES rendition (id) ON DELETE CASCADE,
          content BLOB NOT NULL
        ) STRICT;
        PRAGMA user_version = 10;
        """)
      for rendition in try connection.all("SELECT id FROM rendition", read: { $0.int64(0) }) {
        guard let key = try connection.renditionKey(of: rendition),
          let bytes = try writer.bytes(of: rendition, key)
        else { continue }
        try connection.execute(
          "INSERT INTO rendition_bytes VALUES (?, ?)", rendition, SQLValue.blob(bytes))
      }
      writer.renditions?.close()
    }
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: renditionFile.description + suffix)
    }
    try reopen()
  }
}
