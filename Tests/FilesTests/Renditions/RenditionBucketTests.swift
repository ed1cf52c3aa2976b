import Files
import Fixtures
import Hashing
import ObjectStorage
import PipelineModel
import Renditions
import Testing

@Suite("Renditions in a bucket", .timeLimit(.minutes(2)))
struct RenditionBucketTests {
  @Test("A bucket keeps every promise of a store", arguments: [1 << 20, 0])
  func conformance(cacheBudget: Int) throws {
    let harness = try RenditionBucketHarness(cacheBudget: cacheBudget)
    #expect(try RenditionConformance.faults(of: harness).isEmpty)
  }

  private static func name(_ rendition: String, attempt: Int64? = nil) -> RenditionName {
    let digest = SHA256.digest(of: [])
    return RenditionName(
      stage: "s", owner: digest.hex, fingerprint: Fingerprint(digest), rendition: rendition,
      mediaType: "image/jpeg", attempt: attempt)
  }

  private func put(
    _ text: String, as rendition: String, in store: any RenditionStore
  ) throws -> String {
    try store.put([
      IncomingRendition(name: Self.name(rendition), content: .bytes(Array(text.utf8)))
    ])[0]
  }

  @Test("A path says where it is: bucket, prefix, stage, original, fingerprint, name and attempt")
  func paths() throws {
    let harness = try RenditionBucketHarness()
    let hex = SHA256.digest(of: []).hex
    let path = try harness.bucket.put([
      IncomingRendition(name: Self.name("grid", attempt: 7), content: .bytes([1]))
    ])[0]
    #expect(
      path
        == "s3://\(harness.place)/renditions/s/\(hex.prefix(2))/\(hex).\(hex.prefix(16)).grid.7.jpg"
    )
    #expect(try harness.bucket.names(below: harness.bucket.place) == ["s/"])
  }

  @Test("A damaged object is seen, whatever copies there are, and never becomes one")
  func damage() throws {
    let harness = try RenditionBucketHarness()
    let path = try put("right", as: "grid", in: harness.bucket)
    let digest = SHA256.digest(of: Array("right".utf8))
    let key = String(path.dropFirst("s3://\(harness.place)/".count))
    let wrong = Array("wrong".utf8)
    _ = try harness.client.put(
      .bytes(wrong), as: key, digest: SHA256.digest(of: wrong), isNew: false)
    #expect(try harness.bucket.open(path, copyOf: digest).readToEnd() == wrong)
    let error = #expect(throws: FileError.self) { _ = try harness.bucket.lease(path, digest) }
    #expect(error?.code == .changed)
    // A copy from before serves those who need not know what is stored.
    _ = try put("right", as: "grid", in: harness.bucket)
    #expect(try harness.bucket.lease(path, digest) != nil)
    _ = try harness.client.put(
      .bytes(wrong), as: key, digest: SHA256.digest(of: wrong), isNew: false)
    #expect(try harness.bucket.open(path, copyOf: digest).readToEnd() == Array("right".utf8))
    #expect(try harness.bucket.open(path).readToEnd() == wrong)
  }

  @Test("A place that another library has, or that holds something else, is refused")
  func ownership() throws {
    let harness = try RenditionBucketHarness()
    let path = try put("mine", as: "grid", in: harness.bucket)
    let other = try harness.open(identity: "others")
    for ask in [{ try other.remove(path) }, { _ = try other.open(path) }] as [() throws -> Void] {
      let error = #expect(throws: FileError.self) { try ask() }
      #expect(error?.code == .unavailable && error?.message.contains("another library") == true)
    }
    #expect(try harness.bucket.size(of: path) == 4)
    // Nobody's, but not empty.
    let foreign = try RenditionBucketHarness()
    _ = try foreign.client.put(.bytes([1]), as: "x", digest: SHA256.digest(of: [1]), isNew: true)
    #expect(throws: FileError.self) { _ = try put("mine", as: "grid", in: foreign.bucket) }
    // Whoever only reads claims nothing.
    let empty = try RenditionBucketHarness()
    #expect(throws: FileError.self) {
      _ = try empty.open(mayClaim: false).size(of: "s3://\(empty.place)/renditions/x")
    }
    #expect(try empty.client.names(below: "").isEmpty)
  }

  @Test(
    "Renditions of the folder and of a former bucket are found, and can be taken to the new one")
  func places() throws {
    let (old, new) = (try RenditionBucketHarness(), try RenditionBucketHarness())
    let folder = try Descriptor.openFolder(new.temporary.path)
    let files = RenditionFolder(in: folder)
    let inFile = try put("in a file", as: "a", in: files)
    let inOld = try put("in the former bucket", as: "b", in: old.bucket)
    let places = RenditionPlaces(folder: files, bucket: new.bucket, former: [old.bucket])
    let moved = try places.put(
      [("a", inFile, "in a file"), ("b", inOld, "in the former bucket")].map { name, path, text in
        IncomingRendition(
          name: Self.name(name),
          content: .stored(path: path, digest: SHA256.digest(of: Array(text.utf8))))
      })
    #expect(moved.allSatisfy { $0.hasPrefix(new.bucket.place) })
    for (path, text) in zip(moved + [inFile, inOld], ["in a file", "in the former bucket"] * 2) {
      #expect(try places.open(path).readToEnd() == Array(text.utf8))
    }
    try places.remove(inFile)
    try places.remove(inOld)
    #expect(try old.bucket.size(of: inOld) == nil && files.size(of: inFile) == nil)
    // Back to the folder; and what is in a bucket that nobody knows is no missing file.
    let back = RenditionPlaces(folder: files, bucket: nil, former: [new.bucket])
    let again = try back.put([
      IncomingRendition(
        name: Self.name("a"),
        content: .stored(path: moved[0], digest: SHA256.digest(of: Array("in a file".utf8))))
    ])
    #expect(again == [inFile])
    #expect(try files.open(inFile).readToEnd() == Array("in a file".utf8))
    let error = #expect(throws: FileError.self) { try back.open(inOld) }
    #expect(error?.code == .unavailable)
  }

  @Test("The catalog's note of places keeps those in use, and the newest comes last")
  func noted() throws {
    let (a, b) = (
      try BucketLocation("s3://aaa/x?endpoint=http://h"), try BucketLocation("s3://bbb")
    )
    var noted = NotedPlaces(nil)
    #expect(noted.text == "renditions" && noted.current == "renditions" && noted.buckets == [])
    noted.add(a)
    #expect(noted.text == "s3://aaa/x?endpoint=http://h")
    #expect(noted.current == "s3://aaa/x/renditions")
    noted.add(b)
    #expect(noted.buckets == [a, b] && noted == NotedPlaces(noted.text))
    // By another server's address, it is the same place.
    noted.add(try BucketLocation("s3://aaa/x?endpoint=http://other"))
    #expect(noted.text == "s3://bbb s3://aaa/x?endpoint=http://other")
    noted.add(nil)
    #expect(noted.current == "renditions")
    noted.forget("s3://bbb/renditions")
    noted.forget("renditions")
    #expect(noted.text == "s3://aaa/x?endpoint=http://other renditions")
    noted.forget("s3://aaa/x/renditions")
    #expect(noted == NotedPlaces(nil))
  }
}

/// Repeats an array.
private func * (array: [String], count: Int) -> [String] {
  (0..<count).flatMap { _ in array }
}

/// A bucket of a real server, and a library's folder for its cache.
struct RenditionBucketHarness: RenditionConformance.Harness {
  let temporary: TemporaryFolder
  let place: String
  let bucket: RenditionBucket
  let client: S3Client
  let incoming: Descriptor
  private let cacheBudget: Int

  var store: any RenditionStore { bucket }

  init(cacheBudget: Int = 1 << 20) throws {
    temporary = try TemporaryFolder()
    self.cacheBudget = cacheBudget
    let folder = try Descriptor.openFolder(temporary.path)
    try folder.makeFolder("incoming")
    incoming = try Descriptor.openFolder("incoming", in: folder)
    let server = try ObjectServer.shared.get()
    place = server.place()
    client = try server.client(place)
    bucket = try Self.open(place, in: folder, cacheBudget)
  }

  func reopen() throws -> any RenditionStore { try open() }

  /// - Parameter suffix: what comes after the harness's place.
  func open(
    inside suffix: String = "", identity: String = "tests", mayClaim: Bool = true
  ) throws -> RenditionBucket {
    try Self.open(
      place + suffix, in: Descriptor.openFolder(temporary.path), cacheBudget, identity: identity,
      mayClaim: mayClaim)
  }

  private static func open(
    _ place: String, in folder: Descriptor, _ cacheBudget: Int, identity: String = "tests",
    mayClaim: Bool = true
  ) throws -> RenditionBucket {
    let bucket = try OwnedBucket(
      BucketLocation("s3://\(place)"), for: "renditions", identity: identity, mayClaim: mayClaim,
      environment: ObjectServer.shared.get().environment(through: nil), isStopped: { false })
    return RenditionBucket(bucket, library: folder, cacheBudget: cacheBudget)
  }
}
