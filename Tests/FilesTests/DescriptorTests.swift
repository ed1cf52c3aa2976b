import Fixtures
import Glibc
import Hashing
import PipelineModel
import Testing

@testable import Files

@Suite("Descriptors", .timeLimit(.minutes(1)))
struct DescriptorTests {
  let temporary: TemporaryFolder
  let folder: Descriptor

  init() throws {
    temporary = try TemporaryFolder()
    folder = try Descriptor.openFolder(temporary.path)
  }

  private func make(_ name: BytePath, _ bytes: [UInt8]) throws -> Descriptor {
    let file = try Descriptor.open(
      name, in: folder, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o644)
    try file.write(bytes)
    try file.seek(to: 0)
    return file
  }

  @Test("SHA-256 agrees with the published examples")
  func publishedDigests() {
    #expect(
      SHA256.digest(of: Array("abc".utf8)).hex
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      SHA256.digest(of: [UInt8]()).hex
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  @Test("A file of several chunks hashes to what its bytes hash to, in one piece or many")
  func hash() throws {
    let bytes = (0..<(5 << 19) + 3).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    let file = try make("a", bytes)
    let (digest, size) = try file.hash()
    #expect(size == bytes.count)
    #expect(digest == SHA256.digest(of: bytes))
    let pieces = SHA256()
    for start in stride(from: 0, to: bytes.count, by: 4093) {
      pieces.update(bytes[start..<min(start + 4093, bytes.count)])
    }
    #expect(pieces.finalize() == digest)
  }

  @Test("A pipe that gives its bytes in dribbles is read to its end")
  func shortReads() throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let reading = Descriptor(takingOver: ends[0], path: "pipe")
    var writing: Descriptor? = Descriptor(takingOver: ends[1], path: "pipe")
    for byte in UInt8(0)..<50 {
      try writing?.write([byte, byte])
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
      defer { buffer.deallocate() }
      // Two bytes are there, 64 were asked for.
      #expect(try reading.read(into: buffer) == 2)
    }
    try writing?.write([1, 2, 3])
    writing = nil
    #expect(try reading.readToEnd() == [1, 2, 3])
  }

  @Test("Reading a whole file stops at its limit instead of filling memory")
  func limit() throws {
    _ = try make("a", [UInt8](repeating: 1, count: 100))
    #expect(try folder.readFile("a", limit: 100).count == 100)
    #expect(throws: FileError.self) { try folder.readFile("a", limit: 99) }
  }

  @Test("Every descriptor is closed when another program is started, and when it is let go")
  func descriptorsClose() throws {
    var file: Descriptor? = try make("a", [])
    let number = try #require(file?.number)
    #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
    #expect(fcntl(folder.number, F_GETFD) & FD_CLOEXEC != 0)
    file = nil
    #expect(readlinkTarget(of: number)?.hasSuffix("/a") != true)
  }

  /// What a number of this process stands for; another thread may have taken it meanwhile.
  private func readlinkTarget(of number: Int32) -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/fd/\(number)", &buffer, buffer.count)
    guard count > 0 else { return nil }
    return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
      .replacing("\(temporary.path)", with: "")
  }

  @Test("Permissions and times are set to the nanosecond, before 1970 as well")
  func attributes() throws {
    let file = try make("a", [1])
    try file.setPermissions(0o444)
    for time: Int64 in [1_600_000_000_123_456_789, 0, -1, -1_500_000_000] {
      try file.setModified(time)
      let status = try file.status()
      #expect(status.identity.modified == time)
      #expect(status.permissions == 0o444 && status.kind == .regular && status.links == 1)
      #expect(status.identity.size == 1)
    }
  }

  @Test("Cloning says no where the file system can't, and otherwise gives the same bytes")
  func clone() throws {
    let bytes = [UInt8](repeating: 7, count: 10_000)
    let source = try make("a", bytes)
    let copy = try make("b", [])
    if try copy.clone(from: source) {
      #expect(try folder.readFile("b") == bytes)
    } else {
      #expect(try folder.readFile("b") == [])
    }
  }

  @Test("An error names the operation, the path and the reason, and what a caller can act upon")
  func errors() throws {
    let missing = try #require(throws: FileError.self) {
      try Descriptor.open("no\u{1B}file", in: folder, flags: O_RDONLY)
    }
    #expect(missing.code == .notFound && missing.errno == ENOENT)
    #expect(missing.path == temporary.appending("no\u{1B}file"))
    #expect(missing.message.contains("open") && missing.message.contains("no\\u{1b}file"))
    #expect(missing.message.contains("No such file"))
    let codes: [(Int32, FileError.Code)] = [
      (EEXIST, .exists), (EACCES, .permission), (ENOSPC, .noSpace), (EDQUOT, .noSpace),
      (EROFS, .readOnly), (EXDEV, .crossDevice), (EAGAIN, .busy), (ELOOP, .link), (EIO, .ioError),
      (EMFILE, .tooManyOpen), (EPIPE, .other),
    ]
    for (number, code) in codes { #expect(FileError("x", nil, errno: number).code == code) }
  }

  @Test(
    "A full disk is told as such", .enabled(if: access("/dev/full", W_OK) == 0, "needs /dev/full"))
  func full() throws {
    let file = try Descriptor.open("/dev/full", flags: O_WRONLY)
    let error = try #require(throws: FileError.self) { try file.write([1, 2, 3]) }
    #expect(error.code == .noSpace)
  }

  @Test("The file system says how much room it has")
  func room() throws {
    let facts = try folder.fileSystem()
    #expect(facts.freeBytes > 0 && facts.freeBytes <= facts.totalBytes)
  }

  @Test(
    "A file system without bounds, or with more bytes than a number holds, has room without end",
    arguments: [
      (0, 0, 4096, Int.max, Int.max), (.max, .max, 4096, .max, .max),
      (1 << 63, 1 << 62, 1, .max, 1 << 62), (1000, 0, 4096, 4_096_000, 0),
    ] as [(UInt64, UInt64, UInt64, Int, Int)])
  func bounds(blocks: UInt64, freeBlocks: UInt64, size: UInt64, total: Int, free: Int) {
    let facts = FileSystemFacts(
      blocks: blocks, freeBlocks: freeBlocks, blockSize: size, networkName: nil)
    #expect(facts.totalBytes == total && facts.freeBytes == free)
  }
}
