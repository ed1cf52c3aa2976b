import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@Suite("The kernel's queue of changes", .timeLimit(.minutes(2)))
struct InotifyTests {
  let temporary: TemporaryFolder
  let root: Descriptor
  let inotify: Inotify

  init() throws {
    temporary = try TemporaryFolder()
    root = try Descriptor.openFolder(temporary.path)
    inotify = try Inotify()
  }

  private func write(_ name: BytePath, in folder: Descriptor? = nil) throws {
    let file = try Descriptor.open(
      name, in: folder ?? root, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
    try file.write(Array("x".utf8))
  }

  @Test("Nothing is read, and nothing waited for, where nothing happened")
  func quiet() throws {
    _ = try inotify.watch(root)
    #expect(try inotify.read() == [])
  }

  @Test("A file is told of when it is made, closed and renamed, with the bytes of its name")
  func file() throws {
    let watch = try inotify.watch(root)
    let name = BytePath(bytes: [0x61, 0xFF, 0x0A])
    try write(name)
    try root.rename(name, to: root, as: "b")
    let events = try inotify.read()
    #expect(events.map(\.watch) == [watch, watch, watch])
    #expect(events.map(\.changes) == [.created, .closed, .movedIn])
    #expect(events.map(\.name) == [name, name, "b"])
  }

  @Test("The open folder is watched, whatever has its name by now")
  func byDescriptor() throws {
    try root.makeFolder("a")
    let folder = try Descriptor.openFolder("a", in: root)
    try root.rename("a", to: root, as: "b")
    try root.makeFolder("a")
    let watch = try inotify.watch(folder)
    try write("in-b", in: folder)
    try write("in-a", in: Descriptor.openFolder("a", in: root))
    #expect(Set(try inotify.read().map(\.name)) == ["in-b"])
    #expect(try inotify.watch(Descriptor.openFolder("b", in: root)) == watch)
  }

  @Test("A folder that goes is told of, and its watch ends")
  func removal() throws {
    try root.makeFolder("a")
    let watch = try inotify.watch(Descriptor.openFolder("a", in: root))
    try root.removeFolder("a")
    let events = try inotify.read().filter { $0.watch == watch }
    #expect(events.contains { $0.changes.contains(.deletedItself) })
    #expect(events.last?.changes.contains(.ended) == true)
  }

  @Test("A file is refused: only folders are watched")
  func onlyFolders() throws {
    try write("a")
    let file = try Descriptor.open("a", in: root, flags: O_RDONLY)
    #expect(throws: FileError.self) { try inotify.watch(file) }
  }

  @Test("A queue that is full says so, once, at its end")
  func overflow() throws {
    _ = try inotify.watch(root)
    try EventQueue.overflow(temporary.path)
    var events: [Inotify.Event] = []
    while case let more = try inotify.read(), !more.isEmpty { events += more }
    #expect(events.count { $0.changes.contains(.overflowed) } == 1)
    #expect(events.last?.changes.contains(.overflowed) == true)
    #expect(events.last?.watch == -1)
  }
}
