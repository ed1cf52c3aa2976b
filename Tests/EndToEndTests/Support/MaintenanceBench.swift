import Fixtures
import Foundation
import Glibc
import Hashing
import PipelineModel
import Testing

/// Strikes verbs of maintenance in the same small library again and again.
///
/// The library is made once; a copy of it is put back before each strike.
final class MaintenanceBench {
  /// What is struck.
  enum Scenario: String, CaseIterable, Sendable {
    case undo, emptyTrash, collectGarbage, tag, edit
    /// The first run of a library whose catalog an older version wrote.
    case migrate

    /// An older version wrote files only.
    static let all = allCases.filter { $0 != .migrate || !TestServers.areAsked }

    fileprivate var verb: [BytePath] {
      switch self {
      case .undo: ["undo"]
      case .emptyTrash: ["trash", "empty"]
      case .collectGarbage: ["gc"]
      case .tag: ["tag", "size>0", "+keep", "-first", "--album", "A & B", "--rating", "4"]
      case .migrate: ["run"]
      // Not of the program, but of a process that uses `PipelineLibrary`.
      case .edit: ["library"]
      }
    }
  }

  private let scenario: Scenario
  private let workspace: Workspace
  private let elsewhere: SharedMemoryFolder
  private let shimFolder: TemporaryFolder
  private let backup: TemporaryFolder
  /// What servers had then.
  private var saved: SavedServers?
  private let shim: PreloadShim
  private var reference: (calls: Int, state: [String])?

  init(_ scenario: Scenario) throws {
    self.scenario = scenario
    shimFolder = try TemporaryFolder()
    backup = try TemporaryFolder()
    shim = try PreloadShim(in: shimFolder.path, countsSends: TestServers.areAsked)
    elsewhere = try SharedMemoryFolder()
    workspace = try Workspace(
      sources: [
        ["path": "inbox", "settle": "0ms", "mode": "move", "duplicates": "asset"],
        ["path": .string(elsewhere.path.description), "settle": "0ms", "mode": "move"],
      ],
      stages: Workspace.stages(
        thumbnails: ["storage": scenario == .migrate ? "database" : "file"], isolation: "none"))
    try prepare()
  }

  /// A first run of one file; a second with a shared original, a folder, a raw
  /// name and a file of another file system, which is what is maintained.
  private func prepare() throws {
    let picture = try Pictures.jpeg(width: 160, height: 120)
    try workspace.put(picture, as: "first.jpg")
    try workspace.json("run")
    try workspace.makeFolder(workspace.inbox.appending("sub"))
    try workspace.put(picture, as: "again.jpg")
    try workspace.put(
      try Pictures.file(Pictures.picture(width: 90, height: 70), ".png"), as: "sub/b.png")
    try workspace.put("raw name", as: BytePath(bytes: [0x65, 0xFF, 0xFE, 0x0A, 0x2E, 0x6A]))
    try workspace.put("elsewhere", as: "e.txt", in: elsewhere.path)
    try Unprivileged.shell(
      "chmod 640 inbox/again.jpg; touch -d 2001-02-03 inbox/again.jpg inbox/sub/b.png",
      in: workspace)
    try workspace.json("run")
    try Unprivileged.shell("rmdir inbox/sub", in: workspace)
    if scenario == .tag || scenario == .edit {
      try #require(workspace.run("tag", "name:first", "+first").exitCode == 0)
    }
    if scenario == .emptyTrash || scenario == .collectGarbage {
      let ids = try workspace.assets().dropFirst().map { BytePath($0["id"]?.string ?? "") }
      try #require(workspace.program.run(["rm"] + ids).exitCode == 0)
    }
    if scenario == .migrate {
      try workspace.makeCatalogOlder()
      try #require(workspace.query("SELECT count(*) FROM rendition_bytes") == ["4"])
    }
    if scenario == .collectGarbage {
      try workspace.json("trash", "empty")
      try Unprivileged.shell(
        "mkdir -p library/renditions/old/ab; echo 1 > library/renditions/old/ab/x.y.jpg",
        in: workspace)
    }
    try Unprivileged.shell(
      """
      cp -a library inbox '\(backup.path)'; mkdir '\(backup.path)/elsewhere'
      """, in: workspace)
    saved = try workspace.saveServers()
  }

  private func restore() throws {
    try Unprivileged.shell(
      """
      rm -rf library inbox; find '\(elsewhere.path)' -mindepth 1 -delete
      cp -a '\(backup.path)/library' '\(backup.path)/inbox' .
      """, in: workspace)
    if let saved { try workspace.restoreServers(saved) }
  }

  /// The verb without a fault: how many calls it makes, and what it comes to.
  func undisturbed() throws -> (calls: Int, state: [String]) {
    if let reference { return reference }
    try restore()
    let count = shimFolder.appending("count")
    #expect(try perform(with: shim.counting(into: count)).exitCode == 0)
    let calls = try #require(Int(String(decoding: try workspace.read(count), as: UTF8.self)))
    let state = try finalState("undisturbed")
    reference = (calls, state)
    return (calls, state)
  }

  /// Strikes the verb; doing it again has to make all good.
  func strike(_ strike: PreloadShim.Strike, at call: Int) throws {
    try restore()
    let comment = Comment(rawValue: "\(scenario.rawValue): \(strike) at \(call)")
    let outcome = try perform(with: shim.striking(strike, at: call))
    switch strike {
    case .kill, .tear: #expect(outcome.signal == 9 || outcome.exitCode == 0, comment)
    case .ioError, .noSpace: #expect([0, 1, 3].contains(outcome.exitCode), comment)
    }
    try expectNothingLost(comment)
    if scenario == .edit { try expectAllOrNothing(after: outcome, comment) }
    let again = try perform()
    #expect(again.exitCode == 0, "\(comment.rawValue): \(again.errors)")
    let state = try finalState(comment)
    let expected = try undisturbed().state
    #expect(
      state == expected,
      """
      \(comment.rawValue): missing \(expected.filter { !state.contains($0) }), \
      more \(state.filter { !expected.contains($0) }), said \(outcome.errors) \(again.errors)
      """)
  }

  /// Runs what is struck.
  private func perform(with environment: [String: String] = [:]) throws -> BuiltProgramOutcome {
    var program = workspace.program
    program.environment.merge(environment) { $1 }
    guard scenario == .edit else { return try program.run(scenario.verb) }
    program.program = BuiltProgram.path.parent.appending("edit-probe")
    return try program.run(scenario.verb + (workspace.database.map { [BytePath($0.uri)] } ?? []))
  }

  /// Whether an edit was done as a whole or not at all, whatever it reported, and done if it said so.
  private func expectAllOrNothing(after outcome: BuiltProgramOutcome, _ comment: Comment) throws {
    // Opening it for changes, which any verb does that finds the lock free.
    #expect(try workspace.run("gc").exitCode == 0, comment)
    let counts =
      try workspace.query("SELECT count(*) FROM annotation")
      + workspace.query("SELECT count(*) FROM asset WHERE trashed_at IS NOT NULL")
    // Five annotations for each of five assets; before, one asset had a tag.
    let (nothing, all) = (["1", "0"], ["25", "1"])
    #expect(
      counts == all || outcome.exitCode != 0 && counts == nothing,
      "\(comment.rawValue): \(counts) \(outcome.errors)")
  }

  /// Whether each file's bytes are in a source or in the library, unless they were deleted.
  private func expectNothingLost(_ comment: Comment) throws {
    guard scenario == .undo else { return }
    var found: Set<Digest> = []
    for folder in [workspace.inbox, elsewhere.path, workspace.library.appending("originals")] {
      for path in try workspace.files(below: folder) {
        found.insert(SHA256.digest(of: try workspace.read(folder.appending(path))))
      }
    }
    #expect(workspace.digests.isSubset(of: found), comment)
  }

  /// What the library and its sources have come to, after the garbage was collected.
  private func finalState(_ comment: Comment) throws -> [String] {
    #expect(try workspace.run("gc").exitCode == 0, comment)
    // What was given back or deleted is not taken again.
    #expect(try workspace.json("run").of("file") == [], comment)
    let verified = try workspace.json("verify")
    #expect(verified.of("problem") == [], comment)
    #expect(try workspace.files(below: "library/incoming") == [], comment)
    #expect(try workspace.wrongCounters() == [], comment)
    #expect(try workspace.wrongRenditions() == [], comment)
    var lines = try workspace.state()
    lines += try workspace.query(
      """
      SELECT 'setting ' || key || ' ' || value FROM setting WHERE key IN ('pictures', 'counters');
      SELECT 'picture ' || replace(name, '\n', '?') || ' ' || coalesce(kind, '') || ' '
        || coalesce(CAST(width AS TEXT), '') || ' ' || coalesce(CAST(rating AS TEXT), '') FROM picture;
      """)
    for folder in [workspace.inbox, elsewhere.path] {
      for path in try workspace.files(below: folder) {
        let status = try FileSystemLook(folder.appending(path))
        let digest = SHA256.digest(of: try workspace.read(folder.appending(path)))
        let text = path.printable
        lines.append("returned \(text) \(digest) \(status.permissions) \(status.modified)")
      }
    }
    for path in try workspace.files(below: "library/originals") { lines.append("original \(path)") }
    return lines.sorted()
  }
}

/// A file's mode and time.
private struct FileSystemLook {
  let permissions: UInt32
  let modified: Int

  init(_ path: BytePath) throws {
    var status = stat()
    try #require(path.withCString { lstat($0, &status) } == 0)
    permissions = status.st_mode & 0o7777
    modified = status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
  }
}
