import Files
import Ingest
import LibrarySession
import PipelineModel
import Synchronization

/// The way to the process that started this one, which makes changes.
final class ParentChannel: Sendable {
  private struct State {
    var number = 0
    var waiting: [Int: @Sendable (WebAnswer?) -> Void] = [:]
    var isClosed = false
  }

  private let stream: Descriptor
  private let state = Mutex(State())
  /// Held while a question is written.
  private let writing = Mutex(())

  /// The most questions that wait for an answer.
  private static let mostWaiting = 16

  init(_ stream: Descriptor) { self.stream = stream }

  /// Says whether the server is ready.
  func report(_ readiness: WebReadiness) throws { try write(readiness) }

  /// Asks for changes.
  ///
  /// - Parameter completion: gets the answer, or `nil` if there is none; called on the main thread or on
  ///   this one.
  func ask(_ edits: [AssetEdit], completion: @escaping @Sendable (WebAnswer?) -> Void) {
    let number = state.withLock { state -> Int? in
      guard !state.isClosed, state.waiting.count < Self.mostWaiting else { return nil }
      state.number += 1
      state.waiting[state.number] = completion
      return state.number
    }
    guard let number else { return completion(nil) }
    do {
      try write(WebQuestion(number: number, edits: edits))
    } catch {
      answered(number, nil)
    }
  }

  /// Passes answers on until the other process ends, or ends this channel.
  func work(_ lines: LineReader) {
    // A line that can't be read is the end, too: nothing else would ever come of it.
    while let line = try? lines.next(),
      let answer = try? JSONText.decode(WebAnswer.self, from: line)
    {
      answered(answer.number, answer)
    }
    let waiting = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [:] }
      return state.waiting
    }
    for completion in waiting.values { completion(nil) }
  }

  private func answered(_ number: Int, _ answer: WebAnswer?) {
    let completion = state.withLock { $0.waiting.removeValue(forKey: number) }
    completion?(answer)
  }

  private func write(_ value: some Encodable) throws {
    let line = Array((try JSONText.encode(value) + "\n").utf8)
    try writing.withLock { _ in try stream.write(line) }
  }
}
