import Files
import Foundation
package import ObjectStorage
import PipelineModel
import Synchronization

/// A real S3 server on loopback, Ceph's gateway, that lives as long as this process.
package final class ObjectServer: Sendable {
  /// Its address.
  package let endpoint: String
  package let port: Int
  private let key: String
  private let secret: String
  /// Its end ends the servers.
  private let input: FileHandle
  private let folder: TemporaryFolder

  /// Whether the programs are there; without them, tests that need them are skipped.
  package static let isInstalled = ["radosgw", "ceph-mon", "ceph-osd", "ceph-authtool", "ceph"]
    .allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") }

  /// Why tests that need it are skipped.
  package static let absence = "the packages radosgw, ceph-mon and ceph-osd are not installed"

  /// The server of this process, started when it is first needed.
  package static let shared = Result { try ObjectServer() }

  private init() throws {
    folder = try TemporaryFolder()
    port = Self.freePorts()
    let process = Process()
    process.executableURL = Checkout.root.appending(path: "Tests/object-server")
    process.arguments = [folder.path.description, "\(port)"]
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    self.input = input.fileHandleForWriting
    var text: [UInt8] = []
    while !text.contains(0x0A) {
      let bytes = output.fileHandleForReading.availableData
      if bytes.isEmpty { break }
      text += Array(bytes)
    }
    let words = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard words.count == 4, words[0] == "ready" else { throw Failure() }
    (endpoint, key, secret) = (String(words[1]), String(words[2]), String(words[3]))
  }

  /// The first of three ports in a row that nobody listens on.
  private static func freePorts() -> Int {
    while true {
      let first = Int.random(in: 20_000..<32_000)
      if (first..<first + 3).allSatisfy(FaultProxy.isFree) { return first }
    }
  }

  private struct Failure: Error, CustomStringConvertible {
    let description = "Tests/object-server did not start an S3 server."
  }

  /// The variables of the environment with which a program reaches it.
  ///
  /// - Parameter endpoint: another way to it, such as a proxy.
  package func environment(through endpoint: String? = nil) -> [String: String] {
    [
      "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret,
      "AWS_ENDPOINT_URL": endpoint ?? self.endpoint,
    ]
  }

  /// Returns a place in its bucket where nothing is yet, as `bucket/prefix`.
  package func place() -> String { "tests/\(UUID().uuidString.lowercased())" }

  /// A client for a place.
  ///
  /// - Parameters:
  ///   - endpoint: another way to it, such as a proxy.
  package func client(
    _ place: String, through endpoint: String? = nil,
    retrying policy: S3Client.RetryPolicy = .init(),
    isStopped: @escaping @Sendable () -> Bool = { false }
  ) throws -> S3Client {
    try S3Client(
      BucketLocation("s3://\(place)"), environment: environment(through: endpoint),
      retrying: policy,
      isStopped: isStopped)
  }
}
