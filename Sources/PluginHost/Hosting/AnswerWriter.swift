import Files
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

/// Writes a plugin's messages as one JSON object per line, from any thread.
struct AnswerWriter: Sendable {
  private let output: Descriptor
  private let lock = LineLock()

  /// Plugins may log from their own threads, and lines must stay whole.
  private final class LineLock: Sendable {
    let held = Mutex<Void>(())
  }

  init(_ output: Descriptor) { self.output = output }

  func write(_ message: PluginMessage) {
    // Report a failure if encoding fails; otherwise the host would wait forever.
    guard let text = try? JSONText.encode(message) else {
      if let instead = Self.answer(insteadOf: message) { write(instead) }
      return
    }
    do throws(FileError) {
      try write(Array(text.utf8) + [UInt8(ascii: "\n")])
    } catch {
      // The host is gone, so there is no work left.
      _exit(0)
    }
  }

  /// The message to send instead of one that JSON can't express, such as a NaN; `nil` if nobody
  /// waits for it.
  private static func answer(insteadOf message: PluginMessage) -> PluginMessage? {
    let failure = PluginFailure(
      .permanent, "The plugin returned an answer that can't be written as JSON.")
    switch message {
    case .result(_, .failed): return nil
    case .result(let job, _): return .result(job: job, .failed(failure))
    case .manifest: return .failed(failure)
    // Strings and integers always encode, and fractions have been checked.
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
