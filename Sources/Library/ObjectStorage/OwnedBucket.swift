package import Files
import Hashing
package import PipelineModel
import Synchronization

/// The object that says whose files a place in a bucket keeps: `library.json`, below its prefix.
private struct BucketMarker: Codable {
  /// The identity of the library, a UUID.
  var library: String
}

/// A place in a bucket that keeps one library's files, and no other's.
package final class OwnedBucket: Sendable {
  package let location: BucketLocation
  private let contents: String
  private let identity: String
  private let mayClaim: Bool
  private let environment: [String: String]
  private let isStopped: @Sendable () -> Bool
  private let connected = Mutex<S3Client?>(nil)
  /// Whether the place was seen to be this library's.
  private let isOwn = Mutex(false)

  private static let marker = "library.json"

  /// - Parameters:
  ///   - contents: what is kept there, as people call it and the configuration names its place.
  ///   - identity: of the library, its UUID.
  ///   - mayClaim: whether a place that nobody has may become the library's.
  ///   - environment: the values of `S3Client.variables`.
  ///   - isStopped: called several times a second; ends a transfer when it returns true.
  package init(
    _ location: BucketLocation, for contents: String, identity: String, mayClaim: Bool,
    environment: [String: String], isStopped: @escaping @Sendable () -> Bool
  ) {
    self.location = location
    self.contents = contents
    self.identity = identity
    self.mayClaim = mayClaim
    self.environment = environment
    self.isStopped = isStopped
  }

  /// The client, made when the first request is: most verbs need none, and so no credentials.
  ///
  /// - Throws: `FileError` of code `unavailable` without credentials.
  package func client() throws(FileError) -> S3Client {
    if let client = connected.withLock({ $0 }) { return client }
    let client = try S3Client(location, environment: environment, isStopped: isStopped)
    return connected.withLock { connected in
      // Another thread may have been faster.
      let kept = connected ?? client
      connected = kept
      return kept
    }
  }

  /// The address of the server.
  package func server() throws(FileError) -> String { try client().server }

  /// A key as people see it.
  package func path(_ key: String) -> BytePath {
    BytePath(key.isEmpty ? location.name : "\(location.name)/\(key)")
  }

  /// Finds out whether something can be stored there now.
  ///
  /// - Throws: `FileError` of code `unavailable`.
  package func check() throws(FileError) {
    // Another bucket may have the name by now.
    isOwn.withLock { $0 = false }
    try requireOwn()
    // A server may answer, and store nothing.
    try withProbe { probeKey throws(FileError) in
      _ = try client().put(
        .bytes(Self.probe), as: probeKey, digest: SHA256.digest(of: Self.probe), isNew: false)
    }
  }

  /// Refuses a place that is another library's, and claims one that is nobody's.
  ///
  /// Before the first file is stored there, the store is tried: it has to refuse bytes that are not those of
  /// their digest, and a second object of one name.
  ///
  /// - Throws: `FileError` of code `unavailable`.
  package func requireOwn() throws(FileError) {
    if isOwn.withLock({ $0 }) { return }
    if let owner = try owner() {
      guard owner == identity else {
        throw refusal("keeps the \(contents) of another library (\(owner)). Set another prefix.")
      }
    } else {
      try claim()
    }
    isOwn.withLock { $0 = true }
  }

  private func claim() throws(FileError) {
    guard mayClaim else {
      throw refusal(
        "has no library.json, and this library has \(contents): it is another bucket, or was emptied. "
          + "Correct \"\(contents)\" or the server's address; if the bucket is right, put "
          + "library.json back.")
    }
    if let owner = try ownerOfUsed() {
      guard owner == identity else { throw refusal("was just claimed by another library.") }
      return
    }
    try probe()
    guard let text = try? JSONText.encodePretty(BucketMarker(library: identity)) else {
      throw refusal("can't be claimed: library.json can't be written as JSON.")
    }
    let bytes = Array((text + "\n").utf8)
    _ = try client().put(
      .bytes(bytes), as: Self.marker, digest: SHA256.digest(of: bytes), isNew: true)
    // Another library may have been faster.
    guard try owner() == identity else { throw refusal("was just claimed by another library.") }
  }

  /// The identity of the library that the place belongs to; `nil` if it is nobody's and nothing is there.
  ///
  /// - Throws: `FileError` of code `unavailable` if it is nobody's, and holds something or is inside another one.
  package func ownerOfUsed() throws(FileError) -> String? {
    if let owner = try owner() { return owner }
    do throws(FileError) { try requireUnused() } catch {
      // Another process may have claimed it in between.
      if error.code != .stopped, let owner = try owner() { return owner }
      throw error
    }
    return nil
  }

  /// Refuses a place that holds something, or is inside another one.
  private func requireUnused() throws(FileError) {
    // One that was killed while it tried the store left what it tried with.
    let names = try client().names(below: "").filter { !$0.hasPrefix(Self.probePrefix) }
    guard names.isEmpty else {
      let some = names.sorted().prefix(3).map { "“\($0)”" }.joined(separator: ", ")
      throw refusal(
        "has no library.json, and holds \(some). If it is this library's bucket, put its library.json "
          + "back; otherwise set another prefix.")
    }
    try requireNoneAround()
  }

  /// Refuses a place inside another one, whose owner would take what is here for its own.
  private func requireNoneAround() throws(FileError) {
    var around = location
    while !around.prefix.isEmpty {
      around.prefix = around.prefix.split(separator: "/").dropLast().joined(separator: "/")
      let client = try S3Client(around, environment: environment, isStopped: isStopped)
      let owner: String?
      do throws(FileError) {
        owner = try self.owner(by: client)
      } catch  where error.code != .stopped {
        // The place itself was just listed: the key may be for nothing around it.
        continue
      }
      guard owner != nil else { continue }
      throw refusal(
        "is inside “\(around.name)”, where a library keeps files. Set a place beside it, or the same one."
      )
    }
  }

  /// Whether the place is this library's already.
  package func isOwned() throws(FileError) -> Bool { try owner() == identity }

  /// The identity of the library that the place belongs to; `nil` if it is nobody's.
  package func owner() throws(FileError) -> String? { try owner(by: client()) }

  private func owner(by client: S3Client) throws(FileError) -> String? {
    var bytes: [UInt8] = []
    do throws(FileError) {
      try client.get(Self.marker, limit: 1 << 16) { piece throws(FileError) in
        bytes.append(contentsOf: piece)
      }
    } catch let error where error.code == .notFound {
      return nil
    }
    guard let marker = try? JSONText.decode(BucketMarker.self, from: bytes) else {
      throw refusal("has a library.json that can't be read.")
    }
    return marker.library
  }

  private static let probePrefix = "probe-"
  private static let probe = Array("some bytes".utf8)

  /// Tries what the safety of files rests on.
  ///
  /// - Throws: `FileError` of code `unavailable` for a store that lacks it.
  package func probe() throws(FileError) {
    try withProbe { probeKey throws(FileError) in
      let digest = SHA256.digest(of: Self.probe)
      do throws(FileError) {
        _ = try client().put(
          .bytes(Array("other bytes".utf8)), as: probeKey, digest: digest, isNew: false)
        throw refusal(
          "is on a server that does not compare bytes with their hash (x-amz-content-sha256): damage "
            + "on the way would stay unseen.")
      } catch let error where error.code == .changed {
        // As it has to be.
      }
      _ = try client().put(.bytes(Self.probe), as: probeKey, digest: digest, isNew: false)
      if try client().put(.bytes(Self.probe), as: probeKey, digest: digest, isNew: true) {
        throw refusal(
          "is on a server that ignores “If-None-Match: *”: files could be overwritten.")
      }
      guard try client().names(below: "").contains(probeKey) else {
        throw refusal("is on a server that does not list a new object at once.")
      }
    }
  }

  /// Calls `body` with the key of an object of its own, as others may try the same place now; removes the object.
  private func withProbe(_ body: (String) throws(FileError) -> Void) throws(FileError) {
    let key = "\(Self.probePrefix)\(identity)-\(UInt64.random(in: 0 ... .max))"
    do throws(FileError) { try body(key) } catch {
      // Clean-up: the first error is the one to report.
      try? client().remove(key)
      throw error
    }
    try client().remove(key)
  }

  private func refusal(_ reason: String) -> FileError {
    let path = path("")
    // Whoever refuses has asked the server before.
    let server = (try? server()).map { " on \($0)" } ?? ""
    return FileError(.unavailable, "“\(path.printable)”\(server) \(reason)", path: path)
  }
}
