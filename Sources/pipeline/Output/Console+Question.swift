import Glibc
import PipelineModel

extension Console {
  /// Whether a user at a terminal can answer a question.
  var canAsk: Bool { isTerminal && !isJSON && !isQuiet && isatty(STDIN_FILENO) == 1 }

  /// Asks a question and waits for a line; only one that begins with “y” means yes.
  ///
  /// - Parameter isStopped: polled; once it is true, the answer is no.
  func ask(_ question: String, isStopped: () -> Bool) -> Bool {
    begin(question: "\(question) [y/N] ")
    defer { endQuestion() }
    var answer: [UInt8] = []
    while !isStopped() {
      var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      // A signal or a timeout: check whether to stop.
      guard poll(&input, 1, 200) > 0 else { continue }
      var byte: UInt8 = 0
      let count = read(STDIN_FILENO, &byte, 1)
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      if count <= 0 || byte == UInt8(ascii: "\n") { break }
      answer.append(byte)
    }
    return answer.first.map { $0 | 0x20 == UInt8(ascii: "y") } ?? false
  }
}
