import Files
import Fixtures
import Hashing
import ObjectStorage
import Originals
import PipelineModel

/// A store in a bucket of a real server, and a library's folder for its cache.
struct BucketHarness: StoreConformance.Harness {
  let temporary: TemporaryFolder
  let place: String
  private let bucket: BucketStore
  private let client: S3Client
  let incoming: Descriptor
  /// An object's name is taken by nothing else.
  let obstacles: [StoreConformance.Obstacle] = []
  let blocks = false

  var store: any OriginalStore { bucket }

  /// - Parameters:
  ///   - endpoint: another way to the server, such as a proxy.
  ///   - cacheBudget: the most bytes of local copies.
  ///   - isStopped: ends requests when it returns true.
  init(
    through endpoint: String? = nil, cacheBudget: Int = 1 << 20,
    isStopped: @escaping @Sendable () -> Bool = { false }
  ) throws {
    temporary = try TemporaryFolder()
    let folder = try Descriptor.openFolder(temporary.path)
    try folder.makeFolder("incoming")
    incoming = try Descriptor.openFolder("incoming", in: folder)
    let server = try ObjectServer.shared.get()
    place = server.place()
    client = try server.client(place)
    bucket = try Self.open(
      place, in: folder, through: endpoint, cacheBudget: cacheBudget, isStopped: isStopped)
  }

  /// Opens the same place once more.
  ///
  /// - Parameters:
  ///   - endpoint: another way to the server, such as a proxy.
  ///   - library: the folder of the library; by default that of the harness.
  func open(
    through endpoint: String? = nil, in library: BytePath? = nil, identity: String = "tests"
  ) throws -> BucketStore {
    try Self.open(
      place, in: Descriptor.openFolder(library ?? temporary.path), through: endpoint,
      identity: identity)
  }

  private static func open(
    _ place: String, in library: Descriptor, through endpoint: String?, identity: String = "tests",
    cacheBudget: Int = 1 << 20, isStopped: @escaping @Sendable () -> Bool = { false }
  ) throws -> BucketStore {
    let bucket = try OwnedBucket(
      BucketLocation("s3://\(place)"), for: "originals", identity: identity, mayClaim: true,
      environment: ObjectServer.shared.get().environment(through: endpoint), isStopped: isStopped)
    return BucketStore(bucket, library: library, cacheBudget: cacheBudget)
  }

  private func key(_ digest: Digest) -> String { "originals/\(OriginalLayout.path(of: digest))" }

  func overwrite(_ digest: Digest, with bytes: [UInt8]) throws {
    _ = try client.put(
      .bytes(bytes), as: key(digest), digest: SHA256.digest(of: bytes), isNew: false)
  }

  /// Puts an original into a place, as another machine does.
  static func put(
    _ bytes: [UInt8], _ digest: Digest, in place: String, of server: ObjectServer
  ) throws {
    _ = try server.client(place).put(
      .bytes(bytes), as: "originals/\(OriginalLayout.path(of: digest))", digest: digest,
      isNew: false)
  }

  func obstruct(_ digest: Digest, with obstacle: StoreConformance.Obstacle) throws {}
  func block(_ digest: Digest) throws {}
  func unblock(_ digest: Digest) throws {}

  func addForeign() throws -> BytePath {
    _ = try client.put(
      .bytes([1]), as: "originals/notes.txt", digest: SHA256.digest(of: [1]), isNew: true)
    return BytePath("s3://\(place)/originals/notes.txt")
  }

  func keptApart() throws -> [[UInt8]] {
    var keys: [String] = []
    try client.list("damaged/") { entry throws(FileError) in keys.append(entry.key) }
    return try keys.map { key in
      var bytes: [UInt8] = []
      try client.get(key) { piece throws(FileError) in bytes.append(contentsOf: piece) }
      return bytes
    }
  }

  func obstaclesKeptApart() throws -> Int { 0 }
}
