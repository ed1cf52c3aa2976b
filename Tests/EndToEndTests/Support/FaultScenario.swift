import Fixtures
import Foundation
import PipelineModel

/// Where files come from and how they are taken, for faults that are injected again and again.
enum FaultScenario: String, CaseIterable, Sendable {
  case move, copy, otherFileSystem, storedAsFiles, keptDuplicates
  /// Moved, but by copying and removing; and duplicates that go to `duplicates/`.
  case copiedThenRemoved, filedDuplicates
  /// So many files that one batch of facts is several pages long, and that they are flushed together.
  case manyFiles
  /// The same, renamed instead of copied.
  case manyRenamed

  /// Those that take the same five files.
  /// With `PIPELINE_SCENARIO` just the one of that name.
  static let ofFiveFiles = allCases.filter { scenario in
    let only = ProcessInfo.processInfo.environment["PIPELINE_SCENARIO"]
    return !scenario.isOfMany && (only == nil || only == scenario.rawValue)
  }

  var files: [(name: BytePath, bytes: [UInt8])] {
    isOfMany
      ? (0..<40).map { (BytePath("\($0).txt"), Array("File \($0).".utf8)) } : Self.fiveFiles
  }

  /// How many assets, and renditions, come of the files.
  var expected: (assets: Int, renditions: Int) { isOfMany ? (40, 40) : (4, 4) }

  private var isOfMany: Bool { self == .manyFiles || self == .manyRenamed }

  /// Five files: pictures, a text, the same content twice, and a name that is no text.
  private static let fiveFiles: [(name: BytePath, bytes: [UInt8])] = {
    // Made by the same code as all other pictures of the tests, which says why if it can't be.
    guard let picture = try? Pictures.jpeg(width: 160, height: 120),
      let second = try? Pictures.file(Pictures.picture(width: 90, height: 70), ".png")
    else { preconditionFailure("Pictures can't be made.") }
    return [
      ("a.jpg", picture), ("b.png", second), ("c.txt", Array("A letter.\n".utf8)),
      ("d copy of a.jpg", picture),
      (BytePath(bytes: [0x65, 0xFF, 0xFE, 0x0A, 0x2E, 0x6A]), Array("raw name".utf8)),
    ]
  }()

  /// The usual stages, in worker processes or in the program itself. Scenarios that differ only in how
  /// files are taken have a stage that copies, since each of thousands of runs would spend most of its time
  /// on loading libvips.
  private var stages: JSONValue {
    switch self {
    case .move: Workspace.stages()
    // A trace of the program's calls has to see renditions written.
    case .storedAsFiles: Workspace.stages(thumbnails: ["storage": "file"], isolation: "none")
    default:
      [
        [
          "name": "copy", "plugin": "copy",
          "isolation": .string(self == .copy ? "process" : "none"),
        ]
      ]
    }
  }

  /// A folder with the plugin that copies.
  private static let plugins = Result {
    let folder = try TemporaryFolder()
    try CompiledC.library("copy").write(to: folder.appending("libpipeline-copy.so"))
    return folder
  }

  /// A library to be, with five files in its source; the folder is kept as long as the workspace.
  ///
  /// - Parameter inMemory: whether the library is made on a file system in memory, where no time
  ///   is spent on flushing. What a kill leaves is the same: the kernel goes on.
  func makeWorkspace(
    inMemory: Bool = false
  ) throws -> (workspace: Workspace, source: SharedMemoryFolder?) {
    let elsewhere =
      self == .otherFileSystem ? try SharedMemoryFolder(in: inMemory ? "/tmp" : "/dev/shm") : nil
    let workspace = try Workspace(
      sources: [
        [
          "path": .string(elsewhere?.path.description ?? "inbox"), "settle": "0ms",
          "mode": self == .copy ? "copy" : "move",
          "take": self == .copiedThenRemoved || self == .manyFiles ? "copy" : "auto",
          "duplicates": self == .keptDuplicates
            ? "keep" : self == .filedDuplicates ? "file" : "discard",
        ]
      ],
      stages: stages,
      ["plugins": [.string(try Self.plugins.get().path.description)]],
      in: inMemory ? "/dev/shm" : nil)
    for (name, bytes) in files { try workspace.put(bytes, as: name, in: elsewhere?.path) }
    return (workspace, elsewhere)
  }
}

/// A folder on another file system than the workspace's, by default one in memory.
final class SharedMemoryFolder {
  private let folder: TemporaryFolder
  var path: BytePath { folder.path }

  init(in parent: BytePath = "/dev/shm") throws { folder = try TemporaryFolder(in: parent) }
}

/// How much of a suite of faults is run.
enum FaultSelection {
  /// Whether each fault is injected everywhere, and not at a selection of places.
  static let isFull = ProcessInfo.processInfo.environment["PIPELINE_FAULTS"] == "1"

  /// How many times as many places a selection has as usual.
  private static let factor = max(
    1, ProcessInfo.processInfo.environment["PIPELINE_STRIKES"].flatMap { Int($0) } ?? 1)

  /// A selection of places, another one in each run, or all of them.
  ///
  /// - Parameter purpose: what they are for; each purpose has a selection of its own.
  static func places(_ all: [Int], selecting count: Int, for purpose: String) -> [Int] {
    if isFull { return all }
    var random = SeededRandom(for: purpose)
    return all.shuffled(using: &random).prefix(count * factor).sorted()
  }

  /// Works through places, where there are many two at a time, and tells how far it is.
  static func forEach<Place: Sendable>(
    _ title: String, _ places: [Place], width: Int = isFull ? 2 : 1,
    _ body: @escaping @Sendable (Place) throws -> Void
  ) async throws {
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, place) in places.enumerated() {
        if index >= width { try await group.next() }
        group.addTask { try body(place) }
        if width > 1, index > 0, index % 100 == 0 {
          progress("\(title): \(index) of \(places.count) in \(ContinuousClock.now - start)")
        }
      }
      try await group.waitForAll()
    }
    progress("\(title): \(places.count) tried in \(ContinuousClock.now - start)")
  }

  /// Prints a line at once, also where the output is no terminal.
  static func progress(_ line: String) {
    FileHandle.standardError.write(Data("\(line)\n".utf8))
  }
}
