import Files
import Fixtures
import Foundation
import Hashing
import PipelineModel
import Testing

@testable import ObjectStorage

/// A place in a bucket of a real S3 server, for the originals of a workspace.
///
/// What tests say about the folders `library/originals` and `library/damaged`, they say about its objects.
struct TestBucket {
  /// What `pipeline.json` has as `originals`.
  let location: String
  /// How the program reaches it.
  let environment: [String: String]
  private let client: S3Client

  /// - Parameter endpoint: the program's way to the server, such as a proxy.
  init(through endpoint: String? = nil) throws {
    let server = try ObjectServer.shared.get()
    let place = server.place()
    location = "s3://\(place)"
    environment = server.environment(through: endpoint)
    client = try server.client(place)
  }

  /// - Parameter folder: a key without its last slash.
  func files(below folder: String) throws -> [BytePath] {
    var found: [BytePath] = []
    let prefix = folder + "/"
    try client.list(prefix) { entry throws(FileError) in
      found.append(BytePath(String(entry.key.dropFirst(prefix.count))))
    }
    return found.sorted(by: <)
  }

  func read(_ key: String) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try client.get(key) { piece throws(FileError) in bytes.append(contentsOf: piece) }
    return bytes
  }

  func exists(_ key: String) -> Bool { (try? client.size(of: key)) != nil }

  func write(_ bytes: [UInt8], to key: String) throws {
    _ = try client.put(.bytes(bytes), as: key, digest: SHA256.digest(of: bytes), isNew: false)
  }

  func remove(_ key: String) throws { try client.remove(key) }

  /// All that there is, by key.
  func objects() throws -> [String: [UInt8]] {
    var keys: [String] = []
    try client.list("") { entry throws(FileError) in keys.append(entry.key) }
    return try Dictionary(uniqueKeysWithValues: keys.map { ($0, try read($0)) })
  }

  /// Begins an upload in parts, as a process does that is then killed.
  func beginUpload(of key: String) throws {
    _ = try client.document(
      "POST", key: key, query: ["uploads": ""], root: "InitiateMultipartUploadResult")
  }

  /// How many uploads were begun and not ended.
  func uploads() throws -> Int {
    let root = "ListMultipartUploadsResult"
    let query = ["uploads": "", "prefix": client.object(of: "")]
    return try client.document("GET", query: query, root: root).groups("\(root)/Upload").count
  }

  // MARK: The copy of the manifest

  /// The copies of its segments, by name.
  func manifest() throws -> [String: [UInt8]] {
    var copies: [String: [UInt8]] = [:]
    for name in try client.names(below: "manifest/") {
      var bytes: [UInt8] = []
      try client.get("manifest/\(name)") { piece throws(FileError) in
        bytes.append(contentsOf: piece)
      }
      copies[name] = bytes
    }
    return copies
  }

  func writeManifest(_ bytes: [UInt8], as name: String) throws {
    _ = try client.put(
      .bytes(bytes), as: "manifest/\(name)", digest: SHA256.digest(of: bytes), isNew: false)
  }

  // MARK: Whose place it is

  func readMarker() throws -> [UInt8] {
    var bytes: [UInt8] = []
    try client.get("library.json") { piece throws(FileError) in bytes.append(contentsOf: piece) }
    return bytes
  }

  func writeMarker(_ bytes: [UInt8]) throws {
    _ = try client.put(
      .bytes(bytes), as: "library.json", digest: SHA256.digest(of: bytes), isNew: true)
  }

  func removeMarker() throws { try client.remove("library.json") }
}
