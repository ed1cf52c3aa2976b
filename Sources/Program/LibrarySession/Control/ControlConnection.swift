import Catalog
import Dispatch
import Engine
import Files
import Glibc
import Ingest
import LibraryControl
import PipelineModel
import Records
import Synchronization

/// A connection from a process that makes a request, on the library holder's side.
final class ControlConnection: Sendable {
  enum Event { case request, ended }

  private struct State {
    var lines = LineBuffer()
    var request: LibraryRequest?
    /// Whether the request has begun.
    var isBegun = false
    /// Whether the last answer was sent or the peer has disconnected.
    var isOver = false
  }

  private let socket: LocalSocket
  private let queue: DispatchQueue
  private let state = Mutex(State())

  /// - Parameter queue: reads the request and follows the jobs of an import.
  init(_ socket: LocalSocket, queue: DispatchQueue) {
    self.socket = socket
    self.queue = queue
  }

  /// Whether its request or the jobs of its request are in progress.
  var isBusy: Bool { state.withLock { $0.isBegun && !$0.isOver } }

  var isOver: Bool { state.withLock { $0.isOver } }

  /// Reads the request; calls `body` on the queue when it has arrived and when the stream ends.
  func read(_ body: @escaping @Sendable (Event) -> Void) {
    // Not a Dispatch source: many connections come and go. See `DescriptorEvents`.
    DescriptorEvents.shared.read(socket.descriptor, on: queue) { [self] in
      if receive(body) { return true }
      body(.ended)
      return false
    }
  }

  /// Reads the available bytes.
  ///
  /// - Returns: whether to keep reading; after `finish` the stream is at its end.
  private func receive(_ body: (Event) -> Void) -> Bool {
    guard let bytes = try? socket.receive(), !bytes.isEmpty else {
      // End of stream or error: either way the peer has gone.
      finish()
      return false
    }
    let line = state.withLock { state -> [UInt8]? in
      state.lines.add(bytes)
      return state.request == nil ? state.lines.next() : nil
    }
    guard let line else {
      if state.withLock({ $0.lines.count }) > ControlMessage.longestLine { finish() }
      return true
    }
    guard let question = try? JSONText.decode(ControlMessage.Request.self, from: line),
      question.protocolVersion == ControlMessage.protocolVersion
    else {
      fail(
        code: "version",
        message: "The pipeline that works on the library is version \(programVersion) and does "
          + "not understand this request: restart it, or wait until it ends.", .fatal)
      return true
    }
    state.withLock { $0.request = question.request }
    body(.request)
    return true
  }

  /// Performs the request on the main thread.
  ///
  /// - Returns: the error, if it failed; the peer has already received it.
  func serve(_ handler: RequestHandler) -> (any Error)? {
    let request = state.withLock { state -> LibraryRequest? in
      guard !state.isOver else { return nil }
      state.isBegun = true
      return state.request
    }
    guard let request else { return nil }
    send(.begun)
    let engine = handler.session.engine
    let signals = handler.session.signals
    let report = RequestReport(to: self) { engine.wake() }
    do {
      let result = try handler.perform(request, report: report) { [self] in
        Heartbeat.shared.beat()
        return isOver || signals.isStopRequested
      }
      // Jobs may have become ready although no file was imported.
      engine.wake()
      let catalog = handler.session.library.catalog
      let jobs = ImportedJobs(
        report: report, reader: handler.session.library.reader, engine: engine, queue: queue)
      jobs.follow { [self] in
        end(result.run, report, in: catalog)
        send(.result(result))
        finish()
      }
      return nil
    } catch {
      let failure = Failure(error)
      fail(
        code: handler.code(of: error, request) ?? failure.code,
        message: failure.messages.map(\.message).joined(separator: "\n"),
        failure.kind)
      return error
    }
  }

  /// Ends the run that a request began.
  private func end(_ run: AssetID?, _ report: RequestReport, in catalog: Catalog) {
    guard let run else { return }
    do throws(CatalogError) {
      try catalog.endRun(run, counters: report.counts.counters, at: .now)
    } catch {
      report.warning(error.message)
    }
  }

  /// Sends an answer; ends the connection if that takes longer than a few seconds.
  func send(_ answer: ControlMessage.Response) {
    guard !isOver else { return }
    let line: [UInt8]
    do {
      line = try ControlMessage.line(answer)
    } catch {
      // For example NaN. A failure consists of strings, so it can always be encoded.
      return fail(
        code: "answer",
        message: "The pipeline that works on the library can't write its answer as JSON. What was "
          + "done is safe.", .fatal)
    }
    do throws(FileError) {
      try socket.send(line)
    } catch {
      finish()
    }
  }

  /// Ends the connection if its request has not arrived yet.
  func expire() {
    if state.withLock({ $0.request == nil }) { finish() }
  }

  /// Ends the connection because the holder ends.
  func end() {
    if state.withLock({ $0.isBegun }) {
      fail(
        code: RequestFailure.interrupted,
        message: "The pipeline that works on the library was asked to end before this was done. "
          + "What was done is safe; the next run does the rest.", .fatal)
    } else {
      send(.refused)
      finish()
    }
  }

  private func fail(code: String, message: String, _ kind: Failure.Kind) {
    send(.failure(RequestFailure(code: code, message: message, kind: kind)))
    finish()
  }

  private func finish() {
    let isFirst = state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
    guard isFirst else { return }
    // `read` sees this as the end of the stream.
    shutdown(socket.descriptor.number, Int32(SHUT_RDWR))
  }
}
