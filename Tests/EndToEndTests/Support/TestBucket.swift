import Files
import Fixtures
import Foundation
import Hashing
import ObjectStorage
import PipelineModel
import Testing

/// A place in a bucket of a real S3 server, for the originals of a workspace.
///
/// What tests say about the folder `library/originals`, they say about its objects.
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

  /// A bucket for any workspace, if `PIPELINE_TEST_ORIGINALS=bucket` is in the environment.
  static func ifAsked() throws -> TestBucket? {
    guard ProcessInfo.processInfo.environment["PIPELINE_TEST_ORIGINALS"] == "bucket" else {
      return nil
    }
    return try TestBucket()
  }

  private func key(_ path: String) -> String { path.isEmpty ? "originals" : "originals/\(path)" }

  func files(below path: String) throws -> [BytePath] {
    var found: [BytePath] = []
    let prefix = key(path) + "/"
    try client.list(prefix) { entry throws(FileError) in
      found.append(BytePath(String(entry.key.dropFirst(prefix.count))))
    }
    return found.sorted(by: <)
  }

  func read(_ path: String) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try client.get(key(path)) { piece throws(FileError) in bytes.append(contentsOf: piece) }
    return bytes
  }

  func exists(_ path: String) -> Bool { (try? client.size(of: key(path))) != nil }

  func write(_ bytes: [UInt8], to path: String) throws {
    _ = try client.put(
      .bytes(bytes), as: key(path), digest: SHA256.digest(of: bytes), isNew: false)
  }

  func remove(_ path: String) throws { try client.remove(key(path)) }

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
