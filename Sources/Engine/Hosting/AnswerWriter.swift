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
    guard let text = try? JSONText.encode(message) else { return }
    do throws(FileError) {
      try write(Array(text.utf8) + [UInt8(ascii: "\n")])
    } catch {
      // Nobody is there any more to work for.
      _exit(0)
    }
  }

  private func write(_ line: [UInt8]) throws(FileError) {
    let result = lock.held.withLock { _ in
      Result { () throws(FileError) in try output.write(line) }
    }
    try result.get()
  }
}
