import Fixtures
import Glibc
import PipelineModel
import Testing

/// Kills at the moments that the journal is there for, each chosen by its call and its file.
@Suite("Faults: kills around the journal", .timeLimit(.minutes(10)))
struct JournalTests {
  typealias Moment = MomentShim.Moment

  /// How a file comes into `incoming/`.
  enum Transfer: String, CaseIterable, Sendable { case rename, copy }

  private static let intent = #""fact":"intent""#
  private static let stored = #""fact":"stored""#

  /// Moments that every taking has.
  private static let common =
    journal + (TestServers.areAsked ? [] : folder)

  /// Those of what servers take the place of.
  private static let folder = [
    Moment(.before, .rename, of: "/originals/"),
    Moment(.after, .rename, of: "/originals/"),
    Moment(.before, .write, of: "/catalog.sqlite-wal", behind: stored),
    Moment(.before, .flush, of: "/catalog.sqlite-wal", behind: stored),
    Moment(.after, .flush, of: "/catalog.sqlite-wal", behind: stored),
  ]

  private static let journal = [
    Moment(.before, .write, of: "/manifest/", containing: intent),
    Moment(.after, .write, of: "/manifest/", containing: intent),
    Moment(.after, .flush, of: "/manifest/", behind: intent),
    Moment(.before, .chmod, of: "/incoming/"),
    Moment(.after, .chmod, of: "/incoming/"),
    Moment(.before, .write, of: "/manifest/", containing: stored),
    Moment(.after, .write, of: "/manifest/", containing: stored),
    Moment(.after, .flush, of: "/manifest/", behind: stored),
  ]

  /// The moments at which the source goes.
  private static func leaving(_ take: Transfer) -> [Moment] {
    Moment.Side.allCases.map { side in
      take == .rename
        ? Moment(side, .rename, of: "/incoming/") : Moment(side, .unlink, of: "/inbox/")
    }
  }

  @Test(
    "A kill right before or behind each call around the journal loses nothing",
    arguments: Transfer.allCases.flatMap { take in (leaving(take) + common).map { (take, $0) } })
  func kill(take: Transfer, moment: Moment) throws {
    let undisturbed = try #require(try Self.undisturbed.get()[take])
    let workspace = try Self.makeWorkspace(take)
    let shimFolder = try TemporaryFolder()
    let clean = workspace.program.environment
    workspace.program.environment.merge(try MomentShim(in: shimFolder.path).killing(moment)) { $1 }
    #expect(try workspace.run("run").signal == SIGKILL, "The moment never came.")
    workspace.program.environment = clean
    let last = try workspace.run("run")
    #expect(last.exitCode == 0, "\(last.errors)")
    try workspace.expectSound("\(take), \(moment)")
    #expect(try workspace.state() == undisturbed.state)
    #expect(try workspace.origins() == undisturbed.origins)
  }

  /// What a run without a kill comes to.
  private static let undisturbed = Result {
    try Dictionary(
      uniqueKeysWithValues: Transfer.allCases.map { take in
        let workspace = try makeWorkspace(take)
        try workspace.json("run")
        return (take, (state: try workspace.state(), origins: try workspace.origins()))
      })
  }

  @Test(
    "A file is stored itself if the equal one before it could not be stored", .about(.originals),
    arguments: Transfer.allCases, ["discard", "keep", "file", "asset"])
  func equalFiles(take: Transfer, duplicates: String) throws {
    let workspace = try Self.makeWorkspace(take, duplicates: duplicates)
    for name: BytePath in ["1.txt", "2.txt"] { try workspace.put("the same", as: name) }
    let shimFolder = try TemporaryFolder()
    let clean = workspace.program.environment
    let shim = try MomentShim(in: shimFolder.path)
    workspace.program.environment.merge(
      shim.failing(Moment(.before, .rename, of: "/originals/"))
    ) { $1 }
    let events = try workspace.json("run", exit: 3)
    workspace.program.environment = clean
    #expect(events.outcome("1.txt") == "failed" && events.outcome("2.txt") == "imported")
    #expect(try workspace.files(below: "inbox") == ["1.txt"])
    try workspace.expectSound("\(take), \(duplicates)")
    #expect(try workspace.json("run").outcome("1.txt") != "failed")
    try workspace.expectSound("\(take), \(duplicates)")
    #expect(try workspace.files(below: "library/originals").count == 3)
  }

  /// A library to be without stages, and files to be taken.
  private static func makeWorkspace(
    _ take: Transfer, duplicates: String = "discard"
  ) throws -> Workspace {
    let workspace = try Workspace(
      sources: [
        [
          "path": "inbox", "settle": "0ms", "mode": "move",
          "take": take == .rename ? "auto" : "copy", "duplicates": .string(duplicates),
        ]
      ], stages: [])
    try workspace.makeFolder("inbox/folder")
    try workspace.put("one", as: "a.txt")
    try workspace.put("another", as: "b.txt", in: workspace.inbox.appending("folder"))
    return workspace
  }
}

extension Workspace {
  /// Where each asset says that it came from, relative to the workspace.
  fileprivate func origins() throws -> [String] {
    try query("SELECT name, path, permissions, size FROM assets ORDER BY name")
  }
}
