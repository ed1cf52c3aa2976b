import CMicroHTTPD
import Files
import Glibc
import LibrarySession

/// What answers requests.
protocol Responder: AnyObject, Sendable {
  /// Checks a request whose headers have come.
  func check(_ exchange: Exchange) throws(HTTPError) -> Request
  /// Answers a request that has come as a whole.
  ///
  /// Called on the thread of its connection.
  func respond(to request: Request, body: [UInt8]) -> Reply
  /// The answer that says why there is no other.
  func response(to error: HTTPError, _ exchange: Exchange) -> Response
}

/// How a request is answered.
enum Reply: Sendable {
  case now(Response)
  /// By calling `Exchange.answer` from any thread.
  case later(@Sendable (Exchange) -> Void)
}

/// libmicrohttpd with threads of its own. Source: libmicrohttpd's manual.
final class HTTPDaemon: Sendable {
  private let responder: any Responder
  let connections = Connections()
  let events: EventHub
  private let requests: RequestMetrics
  private let pace: Pace
  // Set once by `start`, before there are threads.
  private nonisolated(unsafe) var daemon: OpaquePointer?

  /// What a connection takes for headers and its buffer, in bytes.
  private static let memory = 16 << 10
  /// The longest body: the keys of as many assets as an edit may have.
  static let mostBody = 2 << 20
  /// The longest form.
  static let mostForm = 16 << 10
  /// Seconds without a byte in either direction.
  private static let silence: UInt32 = 30

  init(
    _ responder: any Responder, events: EventHub, requests: RequestMetrics, pace: Pace
  ) {
    self.responder = responder
    self.events = events
    self.requests = requests
    self.pace = pace
  }

  /// Starts to accept connections.
  ///
  /// - Parameters:
  ///   - listener: a listening socket, which the daemon closes.
  ///   - threads: how many threads answer.
  /// - Returns: whether it could.
  func start(listener: Int32, threads: Int) -> Bool {
    var callbacks = pipeline_http_callbacks(
      accepts: { context, address, _ in
        HTTPDaemon.from(context).connections.accepts(address) ? pipeline_http_yes : pipeline_http_no
      },
      connection: { context, connection, _, code in
        guard let connection else { return }
        let connections = HTTPDaemon.from(context).connections
        if pipeline_http_is_start(code) != 0 {
          connections.opened(connection)
        } else {
          connections.closed(connection)
        }
      },
      target: { context, target, connection in
        guard let target, let connection else { return nil }
        let bytes = UnsafeRawBufferPointer(start: target, count: strlen(target))
        // Released by `completed`.
        let exchange = Exchange(
          connection: connection, of: HTTPDaemon.from(context).connections, target: Array(bytes))
        return Unmanaged.passRetained(exchange).toOpaque()
      },
      request: { context, _, _, method, _, data, size, state in
        guard let size, let method, let exchange = state?.pointee else { return pipeline_http_no }
        return HTTPDaemon.from(context).handle(
          Unmanaged<Exchange>.fromOpaque(exchange).takeUnretainedValue(), method,
          UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : size.pointee), size)
      },
      completed: { context, connection, state, _ in
        if let connection { HTTPDaemon.from(context).connections.answered(connection) }
        guard let exchange = state?.pointee else { return }
        Unmanaged<Exchange>.fromOpaque(exchange).release()
        state?.pointee = nil
      })
    // Unretained, because `stop` comes before this object is released.
    daemon = pipeline_http_start(
      listener, UInt32(threads), Connections.most, Self.silence, Self.memory, &callbacks,
      Unmanaged.passUnretained(self).toOpaque())
    return daemon != nil
  }

  /// Stops to accept connections; those that are there go on.
  func quiesce() { if let daemon { _ = MHD_quiesce_daemon(daemon) } }

  /// Closes all connections; none may be suspended.
  func stop() { if let daemon { MHD_stop_daemon(daemon) } }

  private static func from(_ context: UnsafeMutableRawPointer?) -> HTTPDaemon {
    guard let context else { fatalError("libmicrohttpd lost its context.") }
    return Unmanaged<HTTPDaemon>.fromOpaque(context).takeUnretainedValue()
  }

  /// Is called when the headers have come, for each part of the body, when all has come, and when a
  /// suspended connection goes on.
  private func handle(
    _ exchange: Exchange, _ method: UnsafePointer<CChar>, _ data: UnsafeRawBufferPointer,
    _ size: UnsafeMutablePointer<Int>
  ) -> MHD_Result {
    guard exchange.isBegun else {
      exchange.isBegun = true
      return begin(exchange, method)
    }
    if !data.isEmpty {
      size.pointee = 0
      // A refusal can be sent only before a body or after it, and nobody reads the body of a question.
      guard exchange.response == nil, let request = exchange.request, request.method == .post
      else { return pipeline_http_yes }
      let most = request.isForm ? Self.mostForm : Self.mostBody
      guard exchange.body.count + data.count <= most else { return pipeline_http_no }
      exchange.body += data
      return pipeline_http_yes
    }
    if let response = exchange.response { return queue(response, on: exchange) }
    guard let request = exchange.request else { return pipeline_http_no }
    connections.requested(exchange.connection)
    switch responder.respond(to: request, body: exchange.body) {
    case .now(let response): return queue(response, on: exchange)
    case .later(let work):
      // Before the work, which resumes it.
      MHD_suspend_connection(exchange.connection)
      work(exchange)
      return pipeline_http_yes
    }
  }

  private func begin(_ exchange: Exchange, _ method: UnsafePointer<CChar>) -> MHD_Result {
    exchange.method = String(cString: method)
    MHD_get_connection_values_n(
      exchange.connection, pipeline_http_headers,
      { context, _, name, nameSize, value, valueSize in
        guard let context, let name else { return pipeline_http_no }
        func text(_ start: UnsafePointer<CChar>?, _ count: Int) -> String {
          String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
        }
        Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue().fields
          .add(text(name, nameSize), text(value, value == nil ? 0 : valueSize))
        return pipeline_http_yes
      }, Unmanaged.passUnretained(exchange).toOpaque())
    do throws(HTTPError) {
      exchange.request = try responder.check(exchange)
      return pipeline_http_yes
    } catch {
      let response = responder.response(to: error, exchange)
      if exchange.fields.contentLength ?? 0 > 0 {
        // Without reading the body: the connection ends after it.
        return queue(response, on: exchange)
      }
      exchange.response = response
      return pipeline_http_yes
    }
  }

  private func queue(_ response: Response, on exchange: Exchange) -> MHD_Result {
    pace.wait()
    connections.requested(exchange.connection)
    requests.count(
      exchange.request?.target.path, code: response.status,
      taken: ContinuousClock.now - exchange.start)
    guard let made = make(response, for: exchange) else { return pipeline_http_no }
    defer { MHD_destroy_response(made) }
    for header in response.headers {
      guard MHD_add_response_header(made, header.name, header.value) == pipeline_http_yes else {
        return pipeline_http_no
      }
    }
    return MHD_queue_response(exchange.connection, UInt32(response.status), made)
  }

  private func make(_ response: Response, for exchange: Exchange) -> OpaquePointer? {
    switch response.body {
    case .bytes(let bytes):
      let owner = Unmanaged.passRetained(bytes).toOpaque()
      let made = MHD_create_response_from_buffer_with_free_callback_cls(
        bytes.count, bytes.start,
        { owner in if let owner { Unmanaged<ResponseBytes>.fromOpaque(owner).release() } }, owner)
      if made == nil { Unmanaged<ResponseBytes>.fromOpaque(owner).release() }
      return made
    case .file(let file, let range):
      // The response owns its descriptor.
      let number = dup(file.number)
      guard number >= 0 else { return nil }
      let made = MHD_create_response_from_fd_at_offset64(
        UInt64(range.count), number, UInt64(range.lowerBound))
      if made == nil { close(number) }
      return made
    case .events:
      return events.makeResponse(for: exchange.connection)
    }
  }
}
