import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// Writes a plugin's messages, one JSON object a line, from any thread.
struct AnswerWriter: Sendable {
  private let output: Descriptor
  private let lock = LineLock()

  /// Plugins may log from threads of their own, and lines must stay whole.
  private final class LineLock: Sendable {
    let held = Mutex<Void>(())
  }

  init(_ output: Descriptor) { self.output = output }

  func write(_ message: PluginMessage) {
    // What can't be encoded is told as a failure, or nobody waits for it.
    guard let text = try? JSONText.encode(message) else {
      if let instead = Self.answer(insteadOf: message) { write(instead) }
      return
    }
    do throws(FileError) {
      try write(Array(text.utf8) + [UInt8(ascii: "\n")])
    } catch {
      // Nobody is there any more to work for.
      _exit(0)
    }
  }

  /// What the program is told instead of something that can't be written as JSON, such as a number
  /// that is none; `nil` for what nobody waits for.
  private static func answer(insteadOf message: PluginMessage) -> PluginMessage? {
    let failure = PluginFailure(
      .permanent, "The plugin gave an answer that can't be written as JSON.")
    switch message {
    case .result(_, .failed): return nil
    case .result(let job, _): return .result(job: job, .failed(failure))
    case .manifest: return .failed(failure)
    // Texts and whole numbers can always be written, and a fraction is checked before.
    case .created, .failed, .estimates, .unsupported, .log, .progress: return nil
    }
  }

  private func write(_ line: [UInt8]) throws(FileError) {
    let result = lock.held.withLock { _ in
      Result { () throws(FileError) in try output.write(line) }
    }
    try result.get()
  }
}
