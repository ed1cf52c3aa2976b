import Glibc
import PipelineModel
import Synchronization

/// Results on standard output, messages on standard error.
///
/// Names, reasons, facts and whatever else files and plugins say reach a terminal through here only.
/// Whoever prints need not know where a text comes from: each line is made safe by `line`.
final class Console: Sendable {
  /// Whether results are JSON lines.
  let isJSON: Bool
  let isQuiet: Bool
  let isVerbose: Bool
  /// Whether standard error is a terminal that may be drawn on.
  let isTerminal: Bool
  private let hasColors: Bool
  private let output = Mutex<[UInt8]>([])
  /// Whether each line is sent at once.
  private let isLive = Atomic(false)
  /// Held while lines are sent, so that those of two threads don't mix.
  private let sending = Mutex<Void>(())
  /// A line that is drawn over and over, and has to be wiped before anything else.
  private let drawn = Mutex(false)
  /// Whether a question waits for its answer.
  private let isAsking = Atomic(false)

  init(_ arguments: Arguments, environment: [String: BytePath]) {
    isJSON = arguments.has(.json)
    isQuiet = arguments.has(.quiet)
    isVerbose = arguments.has(.verbose)
    isTerminal = isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb"
    hasColors = isTerminal && !arguments.has(.noColor) && environment["NO_COLOR"] == nil
  }

  /// A console for when the command line could not be read.
  init(isJSON: Bool) {
    self.isJSON = isJSON
    isQuiet = false
    isVerbose = false
    isTerminal = false
    hasColors = false
  }

  /// Prints a line of a result; tabs in it part columns.
  func result(_ text: String) { write(Array((Self.line(text) + "\n").utf8)) }

  /// Prints several lines of a result.
  func result(lines text: String) { for line in Self.lines(text) { result(line) } }

  /// Prints a JSON object as a line.
  func event(_ name: String, _ members: [String: JSONValue]) {
    var members = members
    members["event"] = .string(name)
    // Only a number that is none can't be written, and none is ever read or counted.
    guard let line = try? JSONText.encode(JSONValue.object(members)) else { return }
    write(Array((Self.withoutControls(line) + "\n").utf8))
  }

  /// Prints a JSON object that is written already.
  ///
  /// - Returns: whether it was printed: not where it is no UTF-8.
  func event(line: [UInt8]) -> Bool {
    // Most lines are plain, and these are looked at once.
    if line.allSatisfy({ (0x20..<0x7F).contains($0) }) {
      write(line + [UInt8(ascii: "\n")])
      return true
    }
    guard let text = String(validating: line, as: UTF8.self) else { return false }
    write(Array((Self.withoutControls(text) + "\n").utf8))
    return true
  }

  /// Ends a list that nobody reads any more.
  func expectReader() throws(ReaderGone) {
    if !hasReader { throw ReaderGone() }
  }

  /// Whether somebody may still read standard output.
  var hasReader: Bool { !isReaderGone.load(ordering: .relaxed) }

  /// The text as one line that a terminal shows and does not obey.
  private static func line(_ text: String) -> String {
    text.split(separator: "\t", omittingEmptySubsequences: false)
      .map { String($0).printable }.joined(separator: "\t")
  }

  private static func lines(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// Escapes what JSON allows in strings and terminals obey.
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

  /// Prints raw bytes of a result; `flush` sends what is gathered.
  func write(_ bytes: [UInt8]) {
    let full = output.withLock { buffer in
      buffer += bytes
      return buffer.count >= 1 << 16
    }
    if full || isLive.load(ordering: .relaxed) { flush() }
  }

  /// Sends each line at once from now on: for a program that has no end of its own.
  func sendAtOnce() { isLive.store(true, ordering: .relaxed) }

  /// Sends what was printed; a reader that went away ends the program quietly.
  func flush() {
    sending.withLock { _ in
      let bytes = output.withLock { buffer in
        defer { buffer = [] }
        return buffer
      }
      send(bytes, to: STDOUT_FILENO)
    }
  }

  /// Prints a message for people.
  func message(_ text: String) {
    if !isQuiet { say(Self.line(text)) }
  }

  /// Prints a message that matters even to those who asked for quiet.
  func error(_ text: String) { say(paint(Self.line(text), "31")) }

  /// Prints several lines that matter even to those who asked for quiet.
  func error(lines text: String) { for line in Self.lines(text) { error(line) } }

  /// Prints a warning.
  func warning(_ text: String) {
    if !isQuiet { say(paint("warning: ", "33") + Self.line(text)) }
  }

  /// Draws a line over the last one that was drawn, on a terminal; not over a question.
  func draw(_ text: String) {
    if isAsking.load(ordering: .relaxed) { return }
    drawn.withLock { $0 = true }
    send(Array("\r\u{1B}[K\(Self.line(text))".utf8), to: STDERR_FILENO)
  }

  /// Whether a drawn line is there to be seen.
  var isDrawn: Bool { drawn.withLock { $0 } }

  /// Prints a question, after which nothing is drawn until `endQuestion`.
  func begin(question: String) {
    isAsking.store(true, ordering: .relaxed)
    wipe()
    send(Array(Self.line(question).utf8), to: STDERR_FILENO)
  }

  /// Lets drawing go on.
  func endQuestion() { isAsking.store(false, ordering: .relaxed) }

  /// Wipes the drawn line.
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
      } else if errno != EINTR && errno != EAGAIN {
        if descriptor == STDOUT_FILENO { writeError.store(errno, ordering: .relaxed) }
        return
      }
    }
  }

  /// Why results could not be written, as an error number; 0 if they could.
  let writeError = Atomic<Int32>(0)

  /// Whether nobody reads standard output any more.
  let isReaderGone = Atomic(false)
}

/// Nobody reads standard output any more, as after `head`.
struct ReaderGone: Error {}
