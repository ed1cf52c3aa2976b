import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@testable import Ingest

/// A generator whose numbers are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

@Suite("Scanning a source", .timeLimit(.minutes(2)))
struct SourceScanTests {
  let temporary: TemporaryFolder
  let root: Descriptor

  init() throws {
    temporary = try TemporaryFolder()
    root = try Descriptor.openFolder(temporary.path)
  }

  private func scan(
    recursive: Bool = true, library: Descriptor? = nil,
    _ change: (inout SourceConfiguration) -> Void = { _ in }
  ) throws -> [ScannedEntry] {
    var configuration = SourceConfiguration(path: temporary.path)
    change(&configuration)
    var scan = try SourceScan(
      root, rules: SourceRules(configuration), isRecursive: recursive,
      exclusion: LibraryExclusion(library.map { [$0] } ?? []))
    var entries: [ScannedEntry] = []
    while let entry = scan.next() { entries.append(entry) }
    return entries
  }

  private func touch(_ name: BytePath, in folder: Descriptor) throws {
    _ = try Descriptor.open(name, in: folder, flags: O_WRONLY | O_CREAT, mode: 0o600)
  }

  @Test(
    "Whatever the names, a scan gives the files in byte order of their paths, each once",
    arguments: 1...12)
  func order(seed: UInt64) throws {
    var random = SeededGenerator(state: seed)
    // Around the slash, which is 0x2F; no byte begins or ends an ignored name.
    let alphabet: [UInt8] = [0x01, 0x20, 0x21, 0x2D, 0x2C, 0x30, 0x61, 0x7B, 0x80, 0xFF]
    var expected: [BytePath] = []
    func fill(_ folder: Descriptor, _ path: BytePath, depth: Int) throws {
      var used: Set<BytePath> = []
      for _ in 0..<Int.random(in: 2...9, using: &random) {
        let length = Int.random(in: 1...3, using: &random)
        let name = BytePath(
          bytes: (0..<length).map { _ in alphabet.randomElement(using: &random) ?? 0x61 })
        guard used.insert(name).inserted else { continue }
        if depth > 0, Bool.random(using: &random) {
          try folder.makeFolder(name)
          try fill(
            try Descriptor.openFolder(name, in: folder), path.appending(name), depth: depth - 1)
        } else {
          try touch(name, in: folder)
          expected.append(path.appending(name))
        }
      }
    }
    try fill(root, BytePath(bytes: []), depth: 3)
    let found = try scan().map(\.path)
    #expect(found == expected.sorted())
    // The walk, folders and all, ascends.
    #expect(zip(found, found.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test("Links, pipes and folders that are not asked for are ignored with a reason")
  func ignored() throws {
    try touch("file", in: root)
    try root.makeFolder("folder")
    try touch("inner", in: try Descriptor.openFolder("folder", in: root))
    try #require(symlink("file", "\(temporary.appending("link"))") == 0)
    try #require(symlink("folder", "\(temporary.appending("linked"))") == 0)
    try #require(mkfifo("\(temporary.appending("pipe"))", 0o600) == 0)
    var found: [BytePath: String] = [:]
    for entry in try scan(recursive: false) {
      switch entry {
      case .file(let path, _): found[path] = "file"
      case .ignored(let path, let rule): found[path] = rule
      case .unreadable(let path, _): found[path] = "unreadable"
      }
    }
    #expect(
      found == [
        "file": "file", "folder/": "a folder, and the source is not recursive",
        "link": "a symbolic link", "linked": "a symbolic link", "pipe": "a named pipe",
      ])
    #expect(try scan().map(\.path) == ["file", "folder/inner", "link", "linked", "pipe"])
  }

  @Test("An ignored folder is one hit, and what is in it is not looked at")
  func ignoredFolder() throws {
    for name: BytePath in ["@eaDir", "drafts", "good"] {
      try root.makeFolder(name)
      let folder = try Descriptor.openFolder(name, in: root)
      for file: BytePath in ["a", "b.part", ".hidden"] { try touch(file, in: folder) }
    }
    let glob = try Glob("drafts/**")
    let entries = try scan { $0.exclude = [glob] }
    #expect(
      entries.map(\.path) == ["@eaDir/", "drafts/", "good/.hidden", "good/a", "good/b.part"])
    let files = entries.compactMap { if case .file(let path, _) = $0 { path } else { nil } }
    #expect(files == ["good/a"])
  }

  @Test("The library is never walked into, wherever it lies")
  func library() throws {
    try root.makeFolder("library")
    let library = try Descriptor.openFolder("library", in: root)
    try touch("a", in: library)
    let entries = try scan(library: library)
    #expect(entries.map(\.path) == ["library/"])
    guard case .ignored(_, let rule)? = entries.first else {
      Issue.record("The library was not ignored")
      return
    }
    #expect(rule == "a library")
  }

  @Test("A folder that can't be read is told, and the walk goes on behind it")
  func unreadable() throws {
    for name: BytePath in ["a", "b", "c"] {
      try root.makeFolder(name, mode: 0o755)
      try touch("file", in: try Descriptor.openFolder(name, in: root))
    }
    try #require(chmod("\(temporary.appending("b"))", 0) == 0)
    try #require(chmod("\(temporary.path)", 0o755) == 0)
    let path = temporary.path
    let found = try Unprivileged.run { () -> [String] in
      var scan = try SourceScan(
        Descriptor.openFolder(path), rules: SourceRules(), isRecursive: true,
        exclusion: LibraryExclusion([]))
      var found: [String] = []
      while let entry = scan.next() {
        if case .unreadable(let path, let error) = entry {
          found.append("\(path) \(error.code)")
        } else {
          found.append("\(entry.path)")
        }
      }
      return found
    }
    #expect(found == ["a/file", "b/ permission", "c/file"])
  }
}
