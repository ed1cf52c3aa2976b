import Files
import Ingest
import LibrarySession
import PipelineModel
import Synchronization

/// The way to the process that started this one, which makes changes and pictures.
final class ParentChannel: Sendable {
  /// What came of a question: an answer with the bytes of a picture, or `nil` if there is none.
  typealias Completion = @Sendable (WebAnswer.Outcome?, [UInt8]) -> Void

  private struct State {
    var number = 0
    var waiting: [Int: Completion] = [:]
    /// How many of them wait for changes.
    var edits: Set<Int> = []
    var isClosed = false
  }

  private let stream: Descriptor
  private let state = Mutex(State())
  /// Held while a question is written.
  private let writing = Mutex(())

  /// The most questions that wait for an answer: those for changes, and all.
  private static let mostEdits = 16
  private static let mostWaiting = 1024

  init(_ stream: Descriptor) { self.stream = stream }

  /// Says whether the server is ready.
  func report(_ readiness: WebReadiness) throws { try write(readiness) }

  /// Asks for changes or a picture.
  ///
  /// - Parameter completion: called on the main thread or on this one.
  /// - Returns: a number to take it back with; `nil` if it is answered already.
  @discardableResult
  func ask(_ subject: WebQuestion.Subject, completion: @escaping Completion) -> Int? {
    let isEdit = if case .edits = subject { true } else { false }
    let number = state.withLock { state -> Int? in
      guard !state.isClosed, state.waiting.count < Self.mostWaiting,
        !isEdit || state.edits.count < Self.mostEdits
      else { return nil }
      state.number += 1
      state.waiting[state.number] = completion
      if isEdit { state.edits.insert(state.number) }
      return state.number
    }
    guard let number else {
      completion(nil, [])
      return nil
    }
    do {
      try write(WebQuestion(number: number, subject: subject))
      return number
    } catch {
      answered(number, nil, [])
      return nil
    }
  }

  /// Says something that has no answer.
  func tell(_ subject: WebQuestion.Subject) {
    // A channel that can't be written is at its end, which `work` notices.
    try? write(WebQuestion(number: 0, subject: subject))
  }

  /// Takes a question back that nobody waits for any more: its completion is not called.
  func withdraw(_ number: Int) {
    let isWaiting = state.withLock { $0.waiting.removeValue(forKey: number) != nil }
    // Only saves work: a channel that can't be written is at its end, which `work` notices.
    if isWaiting { try? write(WebQuestion(number: number, subject: .withdrawn)) }
  }

  /// Passes answers on until the other process ends, or ends this channel.
  func work(_ lines: LineReader) {
    // A line that can't be read is the end, too: nothing else would ever come of it.
    while let line = try? lines.next(),
      let answer = try? JSONText.decode(WebAnswer.self, from: line)
    {
      var bytes: [UInt8] = []
      if case .picture(let picture) = answer.outcome {
        guard let whole = try? lines.bytes(picture.bytes) else { break }
        bytes = whole
      }
      if case .database(let isDenied) = answer.outcome {
        LostDatabase.shared.note(isDenied: isDenied)
        continue
      }
      answered(answer.number, answer.outcome, bytes)
    }
    let waiting = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [:] }
      return state.waiting
    }
    for completion in waiting.values { completion(nil, []) }
  }

  private func answered(_ number: Int, _ outcome: WebAnswer.Outcome?, _ bytes: [UInt8]) {
    let completion = state.withLock { state in
      state.edits.remove(number)
      return state.waiting.removeValue(forKey: number)
    }
    completion?(outcome, bytes)
  }

  private func write(_ value: some Encodable) throws {
    let line = Array((try JSONText.encode(value) + "\n").utf8)
    try writing.withLock { _ in try stream.write(line) }
  }
}
