import Files
import Fixtures
import Glibc
import Hashing
import PipelineModel
import Testing

@Suite("Hashing from the disk", .timeLimit(.minutes(1)))
struct DiskHashTests {
  private let temporary: TemporaryFolder
  private let folder: Descriptor

  init() throws {
    temporary = try TemporaryFolder()
    folder = try Descriptor.openFolder(temporary.path)
  }

  private static func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
  }

  @Test(
    "Bytes up to any end hash to the same as ever",
    arguments: [0, 1, 511, 4095, 4096, 4097, 2 << 20, 2 << 20 + 1, 3 << 20 - 4096, 5 << 20 + 123])
  func sizes(count: Int) throws {
    let bytes = Self.bytes(count)
    try folder.writeDurably(bytes, as: "file")
    let file = try Descriptor.openRegular("file", in: folder)
    for _ in 1...2 {
      let found = try file.hashFromDisk()
      #expect(found.digest == SHA256.digest(of: bytes) && found.size == count)
    }
  }

  @Test("A file system that can't be read past its cache is read through it")
  func withoutDirectReads() throws {
    let memory = try Descriptor.openFolder("/dev/shm")
    let name = BytePath("pipeline-disk-hash-\(getpid())")
    let bytes = Self.bytes(5000)
    try memory.writeDurably(bytes, as: name)
    defer { unlink("/dev/shm/\(name)") }
    let found = try Descriptor.openRegular(name, in: memory).hashFromDisk()
    #expect(found.digest == SHA256.digest(of: bytes) && found.size == 5000)
  }

  /// Whether files of the folder for temporary ones can be read past the cache; tmpfs has nothing
  /// else.
  private static var grantsDirectReads: Bool {
    #if arch(x86_64)
      let direct: Int32 = 0x4000
    #else
      let direct: Int32 = 0x10000
    #endif
    guard let temporary = try? TemporaryFolder() else { return false }
    let file = open("\(temporary.appending("file"))", O_RDWR | O_CREAT | direct, 0o600)
    return file >= 0 && close(file) == 0
  }

  @Test(
    "Pages that are cached are dropped, and none come to the cache by the reading",
    .enabled(if: grantsDirectReads, "needs a file system that can be read past its cache"))
  func cache() throws {
    try folder.writeDurably(Self.bytes(3 << 20 + 77), as: "file")
    let file = try Descriptor.openRegular("file", in: folder)
    _ = try file.hash()
    #expect(try cachedPages(of: file) == 769)
    _ = try file.hashFromDisk()
    #expect(try cachedPages(of: file) == 0)
  }

  @Test("It stops when it is asked to, and opens nothing but plain files")
  func refusals() throws {
    try folder.writeDurably(Self.bytes(3 << 20), as: "file")
    var asked = 0
    let file = try Descriptor.openRegular("file", in: folder)
    #expect {
      _ = try file.hashFromDisk {
        asked += 1; return asked > 1
      }
    } throws: {
      ($0 as? FileError)?.code == .stopped
    }
    #expect(symlink("file", "\(temporary.appending("link"))") == 0)
    #expect(mkfifo("\(temporary.appending("pipe"))", 0o600) == 0)
    try folder.makeFolder("folder")
    for name: BytePath in ["link", "pipe", "folder"] {
      #expect { _ = try Descriptor.openRegular(name, in: folder) } throws: {
        ($0 as? FileError)?.code == .notRegular
      }
    }
  }

  /// How many pages of a file are in the cache. Source: mincore(2).
  private func cachedPages(of file: Descriptor) throws -> Int {
    let size = try file.status().identity.size
    let map = try #require(mmap(nil, size, PROT_READ, MAP_SHARED, file.number, 0))
    defer { munmap(map, size) }
    var pages = [UInt8](repeating: 0, count: (size + 4095) / 4096)
    try #require(mincore(map, size, &pages) == 0)
    return pages.count { $0 & 1 == 1 }
  }
}
