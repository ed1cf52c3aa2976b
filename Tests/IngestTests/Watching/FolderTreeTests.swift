import Configuration
import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

@testable import Ingest

@Suite("The watched folders of a source", .timeLimit(.minutes(5)))
struct FolderTreeTests {
  /// A folder with a source and a library in it.
  private final class Bench {
    let temporary: TemporaryFolder
    let inotify: Inotify
    var tree: FolderTree
    var root: Descriptor

    init(_ change: (inout SourceConfiguration) -> Void = { _ in }) throws {
      temporary = try TemporaryFolder()
      let folder = try Descriptor.openFolder(temporary.path)
      try folder.makeFolder("source")
      root = try Descriptor.openFolder("source", in: folder)
      try root.makeFolder("library")
      try root.makeFolder("drafts")
      var configuration = SourceConfiguration(path: temporary.appending("source"))
      change(&configuration)
      inotify = try Inotify()
      tree = try FolderTree(
        root, configuration: configuration,
        exclusion: LibraryExclusion([Descriptor.openFolder("library", in: root)]), inotify: inotify)
      #expect(watchAll().end == nil)
    }

    @discardableResult
    func watchAll(listsFiles: Bool = false) -> DirtyPaths {
      var dirty = DirtyPaths()
      tree.watchAll(listsFiles: listsFiles, into: &dirty)
      return dirty
    }

    /// What the kernel told since the last call.
    func heard() throws -> DirtyPaths {
      var dirty = DirtyPaths()
      while case let events = try inotify.read(), !events.isEmpty {
        tree.handle(events, into: &dirty)
      }
      return dirty
    }

    func folder(_ path: BytePath) throws -> Descriptor {
      var folder = root
      for part in path.components {
        try folder.makeFolder(part)
        folder = try Descriptor.openFolder(part, in: folder)
      }
      return folder
    }

    func write(_ path: BytePath) throws {
      let file = try Descriptor.open(
        path.lastComponent, in: folder(path.parent), flags: O_WRONLY | O_CREAT | O_TRUNC,
        mode: 0o600)
      try file.write(Array("x".utf8))
    }
  }

  @Test("Files that are made, closed, renamed in or changed are told apart")
  func changes() throws {
    let bench = try Bench()
    try bench.write("closed")
    let open = try Descriptor.open(
      "open", in: bench.root, flags: O_WRONLY | O_CREAT, mode: 0o600)
    try bench.write("closed-2")
    try bench.root.rename("closed-2", to: bench.root, as: "renamed")
    try withExtendedLifetime(open) {
      let paths = try bench.heard().paths
      #expect(
        paths == ["closed": .closed, "open": .created, "closed-2": .closed, "renamed": .movedIn])
    }
    try open.setPermissions(0o640)
    #expect(try bench.heard().paths == ["open": .attributes])
  }

  @Test("A file in folders that were made at once with it is always found")
  func nested() throws {
    let bench = try Bench()
    let rounds =
      ProcessInfo.processInfo.environment["PIPELINE_FAULTS"] == "1" ? 1000 : 100
    var found: Set<BytePath> = []
    for round in 0..<rounds {
      try bench.write(BytePath("\(round)/a/b/c/file"))
      // Read at every other round, so that folders are met in all stages of being made.
      if round.isMultiple(of: 2) { found.formUnion(try bench.heard().paths.keys) }
    }
    found.formUnion(try bench.heard().paths.keys)
    #expect(found == Set((0..<rounds).map { BytePath("\($0)/a/b/c/file") }))
  }

  @Test("A folder that is made while others are filled is watched before it is listed")
  func concurrent() throws {
    let bench = try Bench()
    let root = bench.root
    let rounds = 200
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      for round in 0..<rounds {
        let name = BytePath("r\(round)")
        _ = try? root.makeFolder(name)
        guard let outer = try? Descriptor.openFolder(name, in: root) else { continue }
        _ = try? outer.makeFolder("inner")
        guard let inner = try? Descriptor.openFolder("inner", in: outer) else { continue }
        let file = try? Descriptor.open("f", in: inner, flags: O_WRONLY | O_CREAT, mode: 0o600)
        try? file?.write([1])
      }
      done.signal()
    }
    var found: Set<BytePath> = []
    while done.wait(timeout: .now()) == .timedOut { found.formUnion(try bench.heard().paths.keys) }
    found.formUnion(try bench.heard().paths.keys)
    #expect(found == Set((0..<rounds).map { BytePath("r\($0)/inner/f") }))
  }

  @Test("A whole tree that is renamed into the source is listed, and watched from then on")
  func renamedTree() throws {
    let bench = try Bench()
    let outside = try Descriptor.openFolder(bench.temporary.path)
    try outside.makeFolder("tree")
    let tree = try Descriptor.openFolder("tree", in: outside)
    try tree.makeFolder("inner")
    let inner = try Descriptor.openFolder("inner", in: tree)
    _ = try Descriptor.open("old", in: inner, flags: O_WRONLY | O_CREAT, mode: 0o600)
    try outside.rename("tree", to: bench.root, as: "in")
    #expect(try bench.heard().paths == ["in/inner/old": .listed])
    try bench.write("in/inner/new")
    #expect(try bench.heard().paths == ["in/inner/new": .closed])
  }

  @Test("A folder that is renamed within the source is told of under its new name")
  func renamedWithin() throws {
    let bench = try Bench()
    try bench.write("a/inner/file")
    _ = try bench.heard()
    let count = bench.tree.count
    try bench.root.rename("a", to: bench.root, as: "b")
    #expect(try bench.heard().paths == ["b/inner/file": .listed])
    try bench.write("b/inner/more")
    #expect(try bench.heard().paths == ["b/inner/more": .closed])
    #expect(bench.tree.count == count)
  }

  @Test("A folder that leaves the source is watched no longer, nor is what is in it")
  func left() throws {
    let bench = try Bench()
    let inner = try bench.folder("a/inner")
    _ = try bench.heard()
    let outside = try Descriptor.openFolder(bench.temporary.path)
    try bench.root.rename("a", to: outside, as: "a")
    _ = try bench.heard()
    _ = try Descriptor.open("f", in: inner, flags: O_WRONLY | O_CREAT, mode: 0o600)
    #expect(try bench.heard().paths == [:])
    #expect(bench.tree.count == 2)
  }

  @Test("Excluded folders, dot folders and the library are not watched")
  func passedOver() throws {
    let drafts = try Glob("**/drafts/**")
    let bench = try Bench { $0.exclude = [drafts] }
    // The source itself; neither drafts/ nor library/.
    #expect(bench.tree.count == 1)
    try bench.write("drafts/x")
    try bench.write("library/x")
    try bench.write(".hidden/x")
    try bench.write("x.part")
    #expect(try bench.heard().paths == [:])
    #expect(bench.tree.count == 1)
  }

  @Test("Folders in a source that is not recursive are left alone")
  func flat() throws {
    let bench = try Bench { $0.recursive = false }
    try bench.write("a/x")
    try bench.write("y")
    #expect(try bench.heard().paths == ["y": .closed])
    #expect(bench.tree.count == 1)
  }

  @Test("The loss of the source itself is told")
  func rootGone() throws {
    for act in 0..<2 {
      let bench = try Bench()
      let outside = try Descriptor.openFolder(bench.temporary.path)
      if act == 0 {
        try outside.rename("source", to: outside, as: "elsewhere")
      } else {
        for name: BytePath in ["library", "drafts"] { try bench.root.removeFolder(name) }
        try outside.removeFolder("source")
        // The kernel tells of it when nobody has it open any more.
        bench.root = outside
      }
      guard case .rootIsGone = try bench.heard().end else {
        Issue.record("not told")
        continue
      }
    }
  }

  @Test("After an overflow folders are watched that were made meanwhile")
  func overflow() throws {
    let bench = try Bench()
    try EventQueue.overflow(bench.temporary.appending("source"))
    // Nobody is told of this one.
    try bench.write("late/inner/file")
    let dirty = try bench.heard()
    #expect(dirty.overflows == 1)
    #expect(dirty.paths["late/inner/file"] == .listed)
    try bench.write("late/inner/more")
    #expect(try bench.heard().paths == ["late/inner/more": .closed])
  }

  @Test("More paths than are kept are noted as such")
  func cut() {
    var dirty = DirtyPaths()
    for number in 0...DirtyPaths.limit { dirty.note(BytePath("\(number)"), .closed) }
    #expect(dirty.isCut && dirty.paths.count == DirtyPaths.limit)
  }
}
