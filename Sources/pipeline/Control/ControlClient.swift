import Files
import Glibc
import Ingest
import PipelineModel

/// The process that holds a library, from the point of view of a client.
struct ControlClient {
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
  func ask(_ request: LibraryRequest, report: RunReport) throws -> RequestResult? {
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
      exitCode: ExitCode.fatal.rawValue)
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
  func importPaths(_ paths: [BytePath], console: Console) throws -> ExitCode? {
    let start = ContinuousClock().now
    let report = RunReport(console: console)
    guard let result = try ask(.importPaths(paths), report: report) else { return nil }
    if let run = result.run {
      RunSummary(counts: report.counts, run: run, took: ContinuousClock().now - start)
        .print(on: console)
    }
    return report.counts.hasFailures ? .someFailed : .success
  }

  /// The next line, or `nil` when the peer has disconnected.
  private func next(_ lines: inout LineBuffer) throws -> [UInt8]? {
    while true {
      if let line = lines.next() { return line }
      let bytes = try receive()
      if bytes.isEmpty { return nil }
      lines.add(bytes)
    }
  }

  /// The next bytes; none when the peer has disconnected.
  private func receive() throws(FileError) -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    defer { buffer.deallocate() }
    do throws(FileError) {
      let count = try socket.descriptor.read(into: buffer)
      return Array(buffer[..<count])
    } catch {
      if error.errno != ECONNRESET { throw error }
      return []
    }
  }
}

/// The holder's error for a request that failed.
struct RequestFailure: Error, Codable {
  let code: String
  let message: String
  let exitCode: Int32
}
