import Glibc
import PipelineModel
import Synchronization

/// Prints results on standard output and messages on standard error.
///
/// All text from files and plugins reaches a terminal only through here, and `line` makes each line
/// safe, so callers need not know where a text comes from.
final class Console: Sendable {
  /// Whether results are JSON lines.
  let isJSON: Bool
  let isQuiet: Bool
  let isVerbose: Bool
  /// Whether standard error is a terminal that supports drawing.
  let isTerminal: Bool
  private let hasColors: Bool
  private let output = Mutex<[UInt8]>([])
  /// Whether each line is written immediately.
  private let isLive = Atomic(false)
  /// Held while writing, so that lines of two threads don't mix.
  private let sending = Mutex<Void>(())
  /// Whether a progress line is visible, which must be erased before other output.
  private let drawn = Mutex(false)
  /// Whether a question awaits its answer.
  private let isAsking = Atomic(false)

  init(_ arguments: Arguments, environment: [String: BytePath]) {
    isJSON = arguments.has(.json)
    isQuiet = arguments.has(.quiet)
    isVerbose = arguments.has(.verbose)
    isTerminal = isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb"
    hasColors = isTerminal && !arguments.has(.noColor) && environment["NO_COLOR"] == nil
  }

  /// Makes a console for an invalid command line.
  init(isJSON: Bool) {
    self.isJSON = isJSON
    isQuiet = false
    isVerbose = false
    isTerminal = false
    hasColors = false
  }

  /// Prints a line of a result; tabs separate columns.
  func result(_ text: String) { write(Array((Self.line(text) + "\n").utf8)) }

  func result(lines text: String) { for line in Self.lines(text) { result(line) } }

  func event(_ name: String, _ members: [String: JSONValue]) {
    var members = members
    members["event"] = .string(name)
    // Only a NaN can't be encoded, and none is ever read or computed.
    guard let line = try? JSONText.encode(JSONValue.object(members)) else { return }
    write(Array((Self.withoutControls(line) + "\n").utf8))
  }

  /// Prints an encoded JSON object.
  ///
  /// - Returns: `false` if it is not UTF-8, and so was not printed.
  func event(line: [UInt8]) -> Bool {
    // Most lines are printable ASCII and need no further checks.
    if line.allSatisfy({ (0x20..<0x7F).contains($0) }) {
      write(line + [UInt8(ascii: "\n")])
      return true
    }
    guard let text = String(validating: line, as: UTF8.self) else { return false }
    write(Array((Self.withoutControls(text) + "\n").utf8))
    return true
  }

  /// Throws if the reader of standard output has gone.
  func expectReader() throws(BrokenPipe) {
    if !hasReader { throw BrokenPipe() }
  }

  /// Throws if the reader of standard output has gone, also if nothing was written to it since.
  func lookForReader() throws(BrokenPipe) {
    // Without events, errors alone are reported. Source: poll(2).
    var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    if poll(&output, 1, 0) > 0, output.revents & Int16(POLLERR | POLLHUP) != 0 {
      isReaderGone.store(true, ordering: .relaxed)
    }
    try expectReader()
  }

  /// Whether standard output may still have a reader.
  var hasReader: Bool { !isReaderGone.load(ordering: .relaxed) }

  /// The text as one line without control characters that a terminal would obey.
  private static func line(_ text: String) -> String {
    text.split(separator: "\t", omittingEmptySubsequences: false)
      .map { String($0).printable }.joined(separator: "\t")
  }

  private static func lines(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// Escapes characters that JSON strings allow but terminals obey.
  private static func withoutControls(_ line: String) -> String {
    guard line.unicodeScalars.contains(where: \.isControlling) else { return line }
    var text = ""
    for scalar in line.unicodeScalars {
      if scalar.isControlling {
        for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
          let digits = String(unit, radix: 16)
          text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// Buffers raw bytes of a result; `flush` writes them.
  func write(_ bytes: [UInt8]) {
    let full = output.withLock { buffer in
      buffer += bytes
      return buffer.count >= 1 << 16
    }
    if full || isLive.load(ordering: .relaxed) { flush() }
  }

  /// Writes each line immediately from now on, for verbs that run until interrupted.
  func sendAtOnce() { isLive.store(true, ordering: .relaxed) }

  /// Writes the buffer; if the reader has gone, the program ends quietly.
  func flush() {
    sending.withLock { _ in
      let bytes = output.withLock { buffer in
        defer { buffer = [] }
        return buffer
      }
      send(bytes, to: STDOUT_FILENO)
    }
  }

  func message(_ text: String) {
    if !isQuiet { say(Self.line(text)) }
  }

  /// Prints a message even with `--quiet`.
  func error(_ text: String) { say(paint(Self.line(text), "31")) }

  /// Prints several lines even with `--quiet`.
  func error(lines text: String) { for line in Self.lines(text) { error(line) } }

  func warning(_ text: String) {
    if !isQuiet { say(paint("warning: ", "33") + Self.line(text)) }
  }

  /// Draws a progress line over the previous one, but not over a question.
  func draw(_ text: String) {
    if isAsking.load(ordering: .relaxed) { return }
    drawn.withLock { $0 = true }
    send(Array("\r\u{1B}[K\(Self.line(text))".utf8), to: STDERR_FILENO)
  }

  /// Whether a progress line is visible.
  var isDrawn: Bool { drawn.withLock { $0 } }

  /// Erases the progress line.
  func wipe() {
    let wasDrawn = drawn.withLock { drawn in
      defer { drawn = false }
      return drawn
    }
    if wasDrawn { send(Array("\r\u{1B}[K".utf8), to: STDERR_FILENO) }
  }

  /// - Parameter text: a line that is safe to print.
  private func say(_ text: String) {
    wipe()
    send(Array((text + "\n").utf8), to: STDERR_FILENO)
  }

  private func paint(_ text: String, _ color: String) -> String {
    hasColors ? "\u{1B}[\(color)m\(text)\u{1B}[0m" : text
  }

  private func send(_ bytes: [UInt8], to descriptor: Int32) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EPIPE, descriptor == STDOUT_FILENO {
        isReaderGone.store(true, ordering: .relaxed)
        return
      } else if errno == EAGAIN {
        // Somebody made the terminal or pipe non-blocking: wait for room.
        var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&output, 1, -1)
      } else if errno != EINTR {
        if descriptor == STDOUT_FILENO { writeError.store(errno, ordering: .relaxed) }
        return
      }
    }
  }

  /// The `errno` of a failed write to standard output; 0 if none failed.
  let writeError = Atomic<Int32>(0)

  /// Whether the reader of standard output has gone.
  let isReaderGone = Atomic(false)
}

extension Console {
  /// Whether a user at a terminal can answer a question.
  var canAsk: Bool { isTerminal && !isJSON && !isQuiet && isatty(STDIN_FILENO) == 1 }

  /// Asks a question and waits for a line; only one that begins with “y” means yes.
  ///
  /// - Parameter isStopped: polled; once it is true, the answer is no.
  func ask(_ question: String, isStopped: () -> Bool) -> Bool {
    isAsking.store(true, ordering: .relaxed)
    defer { isAsking.store(false, ordering: .relaxed) }
    wipe()
    send(Array(Self.line("\(question) [y/N] ").utf8), to: STDERR_FILENO)
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

/// The reader of standard output has gone, for example `head`.
struct BrokenPipe: Error {}
