import Glibc
import PipelineModel

extension Console {
  /// Whether somebody sits before a terminal who can be asked.
  var canAsk: Bool { isTerminal && !isJSON && !isQuiet && isatty(STDIN_FILENO) == 1 }

  /// Asks, and waits for a line; only one that begins with a “y” means yes.
  ///
  /// - Parameter isStopped: asked often; the answer is no once it is true.
  func ask(_ question: String, isStopped: () -> Bool) -> Bool {
    begin(question: "\(question) [y/N] ")
    defer { endQuestion() }
    var answer: [UInt8] = []
    while !isStopped() {
      var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      // A signal or a timeout: the question is whether to stop.
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
