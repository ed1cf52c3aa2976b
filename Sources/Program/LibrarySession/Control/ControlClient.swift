import Engine
import Files
import Glibc
import Ingest
package import PipelineModel

/// The messages on the control socket, each one line of JSON.
///
/// Both ends are this program; `protocolVersion` detects different versions of it.
enum ControlMessage {
  static let protocolVersion = 1

  /// The only message from the verb.
  struct Request: Codable, Sendable {
    var protocolVersion = ControlMessage.protocolVersion
    var version = programVersion
    var request: LibraryRequest
  }

  /// A message from the holder; the last one is `result`, `failure` or `refused`.
  enum Response: Codable, Sendable {
    /// Work on the request has begun.
    case begun
    case file(FileEvent)
    case job(JobEvent)
    case warning(String)
    case result(RequestResult)
    case failure(RequestFailure)
    /// The request was not begun: the holder is about to end.
    case refused
  }

  /// The longest line accepted, in bytes.
  static let longestLine = 64 << 20

  static func line(_ message: some Encodable) throws -> [UInt8] {
    Array((try JSONText.encode(message) + "\n").utf8)
  }
}

/// The holder's error for a request that failed.
package struct RequestFailure: Error, Codable, Sendable {
  let code: String
  let message: String
  package let kind: Failure.Kind

  private enum CodingKeys: String, CodingKey {
    case code, message
    case kind = "exitCode"
  }
}

/// The version of the program.
package let programVersion = "0.1.0"

/// The process that holds a library, from the point of view of a client.
package struct ControlClient {
  private let socket: LocalSocket
  private let path: BytePath

  /// Connects to the holder.
  ///
  /// - Returns: `nil` if nobody listens: the holder is starting or ending, or runs
  ///   a verb that accepts no requests.
  init?(of library: LibraryFolder) throws {
    guard let socket = try LocalSocket.connect(to: LibraryLayout.control, in: library.folder)
    else { return nil }
    guard [geteuid(), 0].contains(try socket.peer()) else {
      throw IngestError(
        .notALibrary,
        "“\(library.layout.root.appending(LibraryLayout.control).printable)” belongs to another "
          + "user's process; nothing is sent to it.", path: library.layout.root)
    }
    self.socket = socket
    path = library.layout.root
  }

  /// Hands over a request and relays its file and job events.
  ///
  /// - Returns: the result, or `nil` if the request was not begun.
  /// - Throws: `RequestFailure` if the request failed.
  package func ask(_ request: LibraryRequest, report: RunReport) throws -> RequestResult? {
    guard try send(ControlMessage.line(ControlMessage.Request(request: request))) else {
      return nil
    }
    var lines = LineBuffer()
    while let line = try next(&lines) {
      let answer = try JSONText.decode(ControlMessage.Response.self, from: line)
      switch answer {
      case .begun: break
      case .file(let event): report.file(event)
      case .job(let event): report.job(event)
      case .warning(let message): report.warning(message)
      case .result(let result): return result
      case .failure(let failure): throw failure
      case .refused: return nil
      }
    }
    guard lines.isUsed else { return nil }
    throw RequestFailure(
      code: "interrupted",
      message: "The pipeline that works on “\(path.printable)” ended before this was done. What "
        + "was done is safe; run the command again for the rest.",
      kind: .fatal)
  }

  /// Sends a line; returns `false` if the peer has disconnected.
  private func send(_ line: [UInt8]) throws(FileError) -> Bool {
    do throws(FileError) {
      try socket.send(line)
      return true
    } catch let error where error.errno == EPIPE || error.errno == ECONNRESET {
      return false
    }
  }

  /// Imports files and folders and waits for their jobs.
  ///
  /// - Returns: `nil` if the request was not begun.
  package func importPaths(_ paths: [BytePath], output: any SessionOutput) throws -> RunResult? {
    let start = ContinuousClock().now
    let report = RunReport(output)
    // The result of an import always names its run.
    guard let run = try ask(.importPaths(paths), report: report)?.run else { return nil }
    return RunResult(run: run, counts: report.counts, took: ContinuousClock().now - start)
  }

  /// The next line, or `nil` when the peer has disconnected.
  private func next(_ lines: inout LineBuffer) throws -> [UInt8]? {
    while true {
      if let line = lines.next() { return line }
      let bytes = try socket.receive()
      if bytes.isEmpty { return nil }
      lines.add(bytes)
    }
  }
}
