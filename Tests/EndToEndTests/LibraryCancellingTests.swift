import Catalog
import Dispatch
import Fixtures
import Foundation
import Ingest
import PipelineModel
import Synchronization
import Testing

@testable import PipelineLibrary

/// Cancelled tasks that read a library.
@Suite("Cancelling reads", .timeLimit(.minutes(5)))
struct LibraryCancellingTests {
  private func library() async throws -> (Workspace, Library) {
    let workspace = try Workspace(stages: [])
    for index in 0..<5 { try workspace.put("\(index)", as: BytePath("\(index).txt")) }
    try workspace.json("run")
    return (workspace, try await workspace.openLibrary())
  }

  @Test("A read that has begun is interrupted, and the next one is not")
  func running() async throws {
    let (workspace, library) = try await library()
    let begun = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await library.run { library -> Int in
        begun.continuation.finish()
        // Endless, but for the interruption.
        while true { _ = try library.catalog.assetCount() }
      }
    }
    for await _ in begun.stream {}
    task.cancel()
    let error = await #expect(throws: LibraryError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    let count = try await library.count(Fetch())
    #expect(count == 5)
    withExtendedLifetime(workspace) {}
  }

  private final class Runs: Sendable {
    let count = Mutex(0)
  }

  @Test("A read that waits for another one ends at once, and is never begun")
  func waiting() async throws {
    let (workspace, library) = try await library()
    let (begun, held) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
    let holder = Task {
      try await library.run { _ in
        begun.continuation.finish()
        held.wait()
      }
    }
    for await _ in begun.stream {}
    let runs = Runs()
    let waiting = (0..<8).map { _ in
      Task { try await library.run { _ in runs.count.withLock { $0 += 1 } } }
    }
    for task in waiting { task.cancel() }
    // The queue is held all the while.
    for task in waiting {
      let error = await #expect(throws: LibraryError.self) { try await task.value }
      #expect(error?.code == .cancelled)
    }
    held.signal()
    try await holder.value
    let count = try await library.count(Fetch())
    #expect(count == 5 && runs.count.withLock { $0 } == 0)
    withExtendedLifetime(workspace) {}
  }

  @Test("A stream ends when its task is cancelled")
  func stream() async throws {
    let (workspace, library) = try await library()
    let task = Task {
      var batches = 0
      for try await _ in library.stream(Fetch(), batchSize: 1) {
        batches += 1
        withUnsafeCurrentTask { $0?.cancel() }
      }
      return batches
    }
    let batches = try await task.value
    #expect(batches == 1)
    withExtendedLifetime(workspace) {}
  }
}
