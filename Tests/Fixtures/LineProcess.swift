import Foundation
import Glibc
package import PipelineModel

/// A process that is spoken to in lines of JSON, as plugins are.
package final class LineProcess {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private let errorFile: URL
  private var received: [UInt8] = []

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - words: the absolute path of the program, and its arguments.
  ///   - folder: the folder that it is started in; `errors.txt` there takes its standard error.
  package init(_ words: [String], in folder: BytePath) throws {
    // A program that ends while it is written to is an error of `write`.
    signal(SIGPIPE, SIG_IGN)
    let place = URL(filePath: folder.description)
    errorFile = place.appending(path: "errors.txt")
    try Data().write(to: errorFile)
    process.executableURL = URL(filePath: words[0])
    process.arguments = Array(words.dropFirst())
    process.currentDirectoryURL = place
    process.environment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: errorFile)
    try process.run()
    try output.fileHandleForWriting.close()
    try input.fileHandleForReading.close()
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  /// What it wrote to standard error so far.
  package var errors: String {
    (try? String(contentsOf: errorFile, encoding: .utf8)) ?? ""
  }

  /// Sends a message.
  package func send(_ message: JSONValue) throws {
    let line = try JSONText.encode(message) + "\n"
    try input.fileHandleForWriting.write(contentsOf: Data(line.utf8))
  }

  /// Waits for a message.
  ///
  /// - Throws: `BuiltProgramError` if none comes in time, or it is no JSON.
  package func receive(within seconds: Double = 20) throws -> JSONValue {
    let end = Date().addingTimeInterval(seconds)
    while true {
      if let newline = received.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: received[..<newline], as: UTF8.self)
        received.removeFirst(newline + 1)
        return try JSONText.decode(JSONValue.self, from: line)
      }
      guard try readMore(until: end) else {
        throw BuiltProgramError("No answer came, but it said:\n\(errors)")
      }
    }
  }

  /// Sends a message and waits for one.
  package func ask(_ message: JSONValue) throws -> JSONValue {
    try send(message)
    return try receive()
  }

  /// Closes its standard input, and waits for its end.
  ///
  /// - Returns: its exit code, once it has ended, and all that it said without being asked.
  package func end(within seconds: Double = 20) throws -> (status: Int32, rest: String) {
    try input.fileHandleForWriting.close()
    let end = Date().addingTimeInterval(seconds)
    while try readMore(until: end) {}
    guard Date() < end else { throw BuiltProgramError("It does not end:\n\(errors)") }
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: received, as: UTF8.self))
  }

  /// Waits for bytes; `false` at the end of its output, or of the time.
  private func readMore(until end: Date) throws -> Bool {
    let descriptor = output.fileHandleForReading.fileDescriptor
    var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    let left = Int32(max(0, end.timeIntervalSinceNow) * 1000)
    guard poll(&wanted, 1, left) == 1 else { return false }
    let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
      count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
    }
    received += bytes
    return !bytes.isEmpty
  }
}
