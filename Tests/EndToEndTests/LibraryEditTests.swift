import Files
import Fixtures
import Foundation
import Glibc
import PipelineLibrary
import PipelineModel
import Testing

/// `Library.perform` on a library that the built program made, and beside the program.
@Suite("Edits by a program", .timeLimit(.minutes(10)))
struct LibraryEditTests {
  private func made() throws -> Workspace {
    let workspace = try Workspace(stages: [["name": "identify", "plugin": "identify"]])
    for name in ["a.txt", "b.txt", "c.txt"] {
      try workspace.put("text \(name)", as: BytePath(name))
    }
    try workspace.json("run")
    return workspace
  }

  private func library(of workspace: Workspace) async throws -> Library {
    try await workspace.openLibrary()
  }

  private struct Refusal: Error {}

  /// Everything that can be said, in one transaction.
  private func edit(_ library: Library) async throws -> EditSummary {
    let all = try await library.fetch(Fetch().sorted(by: SortDescriptor(\.name)))
    return try await library.perform { edit in
      let texts = try Fetch(#Predicate { $0.kind == "document" })
      try edit.tag(texts, add: ["harvest", "draft"])
      try edit.tag(all[0].id, remove: ["draft"])
      try edit.album([all[1].id, all[2].id], add: ["Best"])
      try edit.rate(Set([all[1].id]), 5)
      try edit.title(all[1].id, " A title ")
      try edit.caption(all[1].id, "Two\nlines")
      edit.trash(all[2].id)
      edit.retry(texts)
    }
  }

  private func expectEdited(_ library: Library) async throws {
    let all = try await library.fetch(Fetch().sorted(by: SortDescriptor(\.name)))
    #expect(
      all.map { Set($0.tags) } == [["harvest"], ["harvest", "draft"], ["harvest", "draft"]])
    #expect(all.map(\.albums) == [[], ["Best"], ["Best"]])
    #expect(all.map(\.rating) == [nil, 5, nil])
    #expect(all[1].title == "A title" && all[1].caption == "Two\nlines")
    #expect(all.map(\.isTrashed) == [false, false, true])
  }

  /// Errors leave nothing, whoever holds the library.
  private func expectRefusals(_ library: Library) async throws {
    let before = try await library.fetch(Fetch())
    let id = before[0].id
    let unknown = try #require(AssetID("0190b5a4-0000-7000-8000-000000000001"))
    await #expect(throws: Refusal.self) {
      try await library.perform { edit in
        try edit.tag(id, add: ["x"])
        throw Refusal()
      }
    }
    let missing = await #expect(throws: LibraryError.self) {
      try await library.perform { edit in
        try edit.tag(id, add: ["x"])
        edit.trash([id, unknown])
      }
    }
    #expect(missing?.code == .noAsset && missing?.message.contains("\(unknown)") == true)
    let refused = await #expect(throws: LibraryError.self) {
      try await library.perform { edit in
        try edit.tag(id, add: ["x"])
        try edit.rate(id, 6)
      }
    }
    #expect(refused?.code == .notAnEdit)
    let tooMany = await #expect(throws: LibraryError.self) {
      try await library.perform { edit in edit.trash(Array(repeating: id, count: 50_001)) }
    }
    #expect(tooMany?.code == .notAnEdit)
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await library.perform { edit in try edit.tag(id, add: ["x"]) }
    }
    let end = await #expect(throws: LibraryError.self) { try await cancelled.value }
    #expect(end?.code == .cancelled)
    let after = try await library.fetch(Fetch())
    #expect(after == before)
  }

  @Test("Where nobody holds the library, the program takes the lock, and lets it go")
  func alone() async throws {
    let workspace = try made()
    let library = try await library(of: workspace)
    try await expectRefusals(library)
    let summary = try await edit(library)
    #expect(summary.assets == 3 && summary.jobs == 0 && summary.warnings.isEmpty)
    try await expectEdited(library)
    let again = try await edit(library)
    // Only the tag that the first step gives and the second one takes away.
    #expect(again.assets == 1)
    try await expectEdited(library)
    // The lock is free, and a catalog made anew says the same.
    try workspace.json("rebuild-catalog")
    try await expectEdited(library)
    try workspace.json("run")
    try workspace.expectSound()
    let restored = try await library.perform { edit in
      edit.restore(try Fetch(query: "is:trashed"))
      try edit.rate(Fetch(), nil)
    }
    #expect(restored.assets == 3)
    let none = try await library.count(Fetch(query: "is:trashed or rating:*"))
    #expect(none == 0)
    let nothing = try await library.perform { _ in }
    #expect(nothing.assets == 0)
  }

  @Test("Beside watch, the holder of the library does it, all or nothing")
  func besideWatch() async throws {
    let workspace = try made()
    let watch = try workspace.program.start(["watch", "--json"])
    try workspace.waitForHolder(watch)
    let library = try await library(of: workspace)
    try await expectRefusals(library)
    let summary = try await edit(library)
    #expect(summary.assets == 3 && summary.jobs == 0)
    try await expectEdited(library)
    #expect(watch.isRunning)
    watch.signal(SIGTERM)
    #expect(try watch.wait(within: 20).exitCode == 143)
    try workspace.json("run")
    try await expectEdited(library)
    try workspace.expectSound()
  }

  @Test("Two programs, each with its own transactions, do all of them")
  func together() async throws {
    let workspace = try made()
    let libraries = [try await library(of: workspace), try await library(of: workspace)]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, library) in libraries.enumerated() {
        group.addTask {
          for step in 0..<5 {
            try await library.perform(wait: .seconds(60)) { edit in
              try edit.tag(Fetch(), add: ["\(number) \(step)"])
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let all = try await libraries[0].fetch(Fetch())
    #expect(all.allSatisfy { Set($0.tags).count == 10 })
    try workspace.json("run")
    try workspace.expectSound()
  }

  @Test("A library that a process keeps without taking requests is an error that says so")
  func locked() async throws {
    let workspace = try made()
    let library = try await library(of: workspace)
    let lock = try #require(
      try FileLock.attempt("lock", in: .openFolder(workspace.library)))
    let error = await #expect(throws: LibraryError.self) {
      try await library.perform(wait: .zero) { edit in try edit.tag(Fetch(), add: ["x"]) }
    }
    #expect(error?.code == .locked && error?.message.contains("Nothing was done") == true)
    withExtendedLifetime(lock) {}
  }
}
