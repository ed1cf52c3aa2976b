import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@Suite("Leases", .timeLimit(.minutes(1)))
struct LeaseTests {
  let temporary: TemporaryFolder
  let folder: Descriptor

  init() throws {
    temporary = try TemporaryFolder()
    folder = try Descriptor.openFolder(temporary.path)
    try folder.writeDurably([1, 2, 3], as: "a")
  }

  private func open(_ name: BytePath = "a", _ flags: Int32 = O_RDONLY) throws -> Descriptor {
    try Descriptor.open(name, in: folder, flags: flags)
  }

  @Test("A file that nobody writes is leased, and the lease survives a rename")
  func granted() throws {
    let file = try open()
    #expect(!file.holdsLease)
    #expect(file.acquireLease() == .granted)
    #expect(file.holdsLease)
    try folder.rename("a", to: folder, as: "b")
    #expect(file.holdsLease)
    file.releaseLease()
    #expect(!file.holdsLease)
  }

  @Test("A file that somebody has open for writing is refused")
  func writerIsThere() throws {
    var writer: Descriptor? = try open("a", O_WRONLY)
    let file = try open()
    #expect(file.acquireLease() == .refused)
    #expect(!file.holdsLease)
    withExtendedLifetime(writer) {}
    writer = nil
    #expect(file.acquireLease() == .granted)
  }

  @Test("A file that is mapped writable is refused although its descriptor is closed")
  func mapped() throws {
    var writer: Descriptor? = try open("a", O_RDWR)
    let address = mmap(
      nil, 3, PROT_READ | PROT_WRITE, MAP_SHARED, try #require(writer?.number), 0)
    try #require(address != MAP_FAILED)
    writer = nil
    #expect(try open().acquireLease() == .refused)
    munmap(address, 3)
    #expect(try open().acquireLease() == .granted)
  }

  @Test("A writer that comes later breaks the lease, and is let in when it goes")
  func writerComes() throws {
    let file = try open()
    #expect(file.acquireLease() == .granted)
    // Without O_NONBLOCK the writer would wait for the lease to go.
    let refused = try #require(throws: FileError.self) {
      try open("a", O_WRONLY | O_NONBLOCK)
    }
    #expect(refused.code == .busy)
    #expect(!file.holdsLease)
    file.releaseLease()
    _ = try open("a", O_WRONLY | O_NONBLOCK)
  }

  @Test(
    "Of a file that belongs to somebody else, nothing is known",
    .enabled(if: geteuid() == 0, "needs root"))
  func notOurs() throws {
    // Root may lease everything, so this needs a thread without privileges.
    try #require(chmod("\(temporary.path)", 0o755) == 0)
    try #require(chmod("\(temporary.appending("a"))", 0o644) == 0)
    let path = temporary.appending("a")
    let lease = try Unprivileged.run {
      try Descriptor.open(path, flags: O_RDONLY).acquireLease()
    }
    #expect(lease == .unavailable)
  }

  @Test("An ordinary user gets a lease on a file of their own")
  func own() throws {
    try #require(chmod("\(temporary.path)", 0o777) == 0)
    let path = temporary.appending("own")
    let leases = try Unprivileged.run { () -> [Descriptor.Lease] in
      var writer: Descriptor? = try .open(path, flags: O_WRONLY | O_CREAT, mode: 0o600)
      let file = try Descriptor.open(path, flags: O_RDONLY)
      let first = file.acquireLease()
      withExtendedLifetime(writer) {}
      writer = nil
      return [first, file.acquireLease()]
    }
    #expect(leases == [.refused, .granted])
  }

  @Test("A folder has no lease to give")
  func noFile() { #expect(folder.acquireLease() == .unavailable) }
}
