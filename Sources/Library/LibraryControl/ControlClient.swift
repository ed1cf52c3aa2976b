import Files
import Glibc
package import Ingest
package import PipelineModel

/// The process that holds a library, from the point of view of a client.
package struct ControlClient {
  private let socket: LocalSocket
  private let path: BytePath

  /// Connects to the holder.
  ///
  /// - Returns: `nil` if nobody listens: the holder is starting or ending, or runs
  ///   a verb that accepts no requests.
  package init?(of library: LibraryFolder) throws {
    try self.init(in: library.folder, of: library.layout.root)
  }

  /// Connects to the process that takes files with the folder of a machine that joins a library.
  ///
  /// - Returns: `nil` if nobody listens.
  package init?(joined root: BytePath) throws {
    try self.init(in: Descriptor.openFolder(root), of: root)
  }

  private init?(in folder: Descriptor, of root: BytePath) throws {
    guard let socket = try LocalSocket.connect(to: LibraryLayout.control, in: folder)
    else { return nil }
    guard [geteuid(), 0].contains(try socket.peer()) else {
      throw IngestError(
        .notALibrary,
        "“\(root.appending(LibraryLayout.control).printable)” belongs to another "
          + "user's process; nothing is sent to it.", path: root)
    }
    self.socket = socket
    path = root
  }

  /// Hands over a request.
  ///
  /// - Parameter onEvent: receives its events and warnings.
  /// - Returns: the result, or `nil` if the request was not begun.
  /// - Throws: `RequestFailure` if the request failed, with the code `interrupted` if the holder ended
  ///   before it answered.
  package func ask(
    _ request: LibraryRequest, onEvent: (ControlMessage.Response) -> Void
  ) throws -> RequestResult? {
    guard try send(ControlMessage.line(ControlMessage.Request(request: request))) else {
      return nil
    }
    var lines = LineBuffer()
    while let line = try next(&lines) {
      let answer = try JSONText.decode(ControlMessage.Response.self, from: line)
      switch answer {
      case .begun: break
      case .file, .job, .repaired, .warning: onEvent(answer)
      case .result(let result): return result
      case .failure(let failure): throw failure
      case .refused: return nil
      }
    }
    guard lines.isUsed else { return nil }
    throw RequestFailure(
      code: RequestFailure.interrupted,
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
