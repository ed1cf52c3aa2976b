import Files
import Fixtures
import Glibc
import Hashing
import Originals
import PipelineModel
import Testing

@Suite("Local copies of originals in a bucket")
struct OriginalCacheTests {
  private let temporary: TemporaryFolder
  private let library: Descriptor

  init() throws {
    temporary = try TemporaryFolder()
    library = try Descriptor.openFolder(temporary.path)
  }

  private func cache(budget: Int = 1000) throws -> OriginalCache {
    try OriginalCache(in: library, budget: budget)
  }

  private static func bytes(_ number: UInt8, count: Int = 300) -> [UInt8] {
    [UInt8](repeating: number, count: count)
  }

  /// - Returns: its digest.
  @discardableResult
  private static func add(
    _ number: UInt8, count: Int = 300, to cache: OriginalCache
  ) throws -> Digest {
    let bytes = bytes(number, count: count)
    let digest = SHA256.digest(of: bytes)
    _ = try cache.add(digest) { file, begin throws(FileError) in
      begin(bytes.count)
      try file.write(bytes)
    }
    return digest
  }

  private func path(_ digest: Digest) -> BytePath {
    temporary.appending("cache").appending(OriginalLayout.path(of: digest))
  }

  @Test("A copy is given while it is there")
  func lease() throws {
    let cache = try cache()
    let digest = try Self.add(1, to: cache)
    let copy = try #require(try cache.lease(digest))
    #expect(try Descriptor.open(copy.path, flags: O_RDONLY).readToEnd() == Self.bytes(1))
    #expect(try cache.lease(SHA256.digest(of: [])) == nil)
    try cache.remove(digest)
    #expect(try cache.lease(digest) == nil)
  }

  @Test("Of two who add the same original at once, the later gets the copy of the other")
  func addedTwice() throws {
    let cache = try cache()
    let bytes = Self.bytes(1)
    let digest = SHA256.digest(of: bytes)
    var first: LocalOriginal?
    var inode: UInt64?
    let second = try cache.add(digest) { file, begin throws(FileError) in
      begin(bytes.count)
      try file.write(bytes)
      let other = try OriginalCache(in: library, budget: 1000)
      first = try other.add(digest) { file, _ throws(FileError) in try file.write(bytes) }
      inode = try FileSystem.status(of: path(digest)).identity.inode
    }
    #expect(inode != nil && second.path == first?.path)
    #expect(try FileSystem.status(of: path(digest)).identity.inode == inode)
    #expect(try library.openParent(of: "cache/x").entries().count == 1)
    // The end of one does not take the file from the other.
    first = nil
    cache.empty(toFree: 1)
    #expect(try second.open().readToEnd() == bytes)
  }

  @Test("Bytes that are not the original's are not kept")
  func wrongBytes() throws {
    let cache = try cache()
    let digest = SHA256.digest(of: Self.bytes(1))
    #expect(throws: FileError.self) {
      try cache.add(digest) { file, _ throws(FileError) in try file.write([1, 2, 3]) }
    }
    #expect(try cache.lease(digest) == nil)
    #expect(try Descriptor.openFolder(temporary.appending("cache")).entries().isEmpty)
  }

  @Test("The least recently used copy makes room, unless somebody uses it")
  func room() throws {
    let cache = try cache()
    let digests = try (1...3).map { try Self.add($0, to: cache) }
    for (age, digest) in digests.enumerated() {
      try Descriptor.open(path(digest), flags: O_RDONLY).setModified(Int64(age))
    }
    // Another process's cache, as it would be.
    let other = try self.cache()
    let held = try #require(try other.lease(digests[0]))
    try Descriptor.open(path(digests[0]), flags: O_RDONLY).setModified(0)
    try Self.add(4, to: cache)
    #expect(try cache.lease(digests[0]) != nil)
    #expect(try cache.lease(digests[1]) == nil)
    withExtendedLifetime(held) {}
  }

  @Test("A copy larger than the budget stays as long as it is used")
  func large() throws {
    let cache = try cache(budget: 100)
    let bytes = Self.bytes(5)
    let digest = SHA256.digest(of: bytes)
    do {
      let copy = try cache.add(digest) { file, begin throws(FileError) in
        begin(bytes.count)
        try file.write(bytes)
      }
      try Self.add(6, count: 50, to: cache)
      #expect(try FileSystem.status(of: copy.path).identity.size == 300)
    }
    #expect(try cache.lease(digest) == nil)
  }

  @Test("A process hashes a copy that it has not seen before")
  func altered() throws {
    let digest = try Self.add(1, to: try cache())
    try Descriptor.openFolder(path(digest).parent).writeDurably(
      Self.bytes(2), as: path(digest).lastComponent)
    #expect(try cache().lease(digest) == nil)
    #expect(throws: FileError.self) { try FileSystem.status(of: path(digest)) }
  }

  @Test("What a killed process left incomplete is removed, and what a living one fills is not")
  func leftovers() throws {
    let cache = try cache(budget: 500)
    let folder = try Descriptor.openFolder(temporary.appending("cache"))
    try folder.writeDurably(Self.bytes(7), as: ".new-1-1")
    try folder.writeDurably(Self.bytes(7), as: ".new-2-1")
    let living = try Descriptor.open(".new-2-1", in: folder, flags: O_RDONLY)
    try #require(living.lockIfFree(isShared: true) == true)
    try Self.add(1, to: cache)
    try Self.add(2, to: cache)
    #expect(try folder.statusIfThere(of: ".new-1-1") == nil)
    #expect(try folder.statusIfThere(of: ".new-2-1") != nil)
  }
}
