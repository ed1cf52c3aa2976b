import CMicroHTTPD
import Synchronization

/// The clients that are told of changes, as a stream of events each. Source: HTML Standard, section 9.2,
/// “Server-sent events”.
final class EventHub: Sendable {
  private struct State {
    var clients: [ObjectIdentifier: EventClient] = [:]
    /// What a client is told first.
    var greeting: [UInt8] = []
    var isClosed = false
  }

  private let state = Mutex(State())

  /// The most clients.
  private static let most = 200

  /// Whether there is room for another client.
  var hasRoom: Bool { state.withLock { !$0.isClosed && $0.clients.count < Self.most } }

  /// Whether there is any client.
  var hasClients: Bool { state.withLock { !$0.clients.isEmpty } }

  /// Tells all clients of an event.
  ///
  /// - Parameters:
  ///   - name: the event's name.
  ///   - data: its JSON, on one line.
  func send(_ name: String, _ data: String) {
    send(Array("event: \(name)\ndata: \(data)\n\n".utf8))
  }

  /// Sends a comment, which also finds out who has gone.
  func sendHeartbeat() { send(Array(": \n\n".utf8)) }

  /// What clients are told when they come: as they come at any time, they must know what is so.
  func setGreeting(_ events: [(name: String, data: String)]) {
    let bytes = events.flatMap { Array("event: \($0.name)\ndata: \($0.data)\n\n".utf8) }
    state.withLock { $0.greeting = bytes }
  }

  private func send(_ bytes: [UInt8]) {
    for client in state.withLock({ Array($0.clients.values) }) { client.send(bytes) }
  }

  /// Ends all streams.
  func close() {
    let clients = state.withLock { state in
      state.isClosed = true
      return Array(state.clients.values)
    }
    for client in clients { client.end() }
  }

  /// Makes a response that goes on until the client has gone, or the server ends.
  func makeResponse(for connection: OpaquePointer) -> OpaquePointer? {
    let client = EventClient(connection, self)
    let isClosed = state.withLock { state in
      client.send(state.greeting)
      state.clients[ObjectIdentifier(client)] = client
      return state.isClosed
    }
    if isClosed { client.end() }
    let owner = Unmanaged.passRetained(client).toOpaque()
    let response = MHD_create_response_from_callback(
      pipeline_http_size_unknown, 4096,
      { owner, _, buffer, room in
        guard let owner, let buffer else { return pipeline_http_end_of_stream }
        return Unmanaged<EventClient>.fromOpaque(owner).takeUnretainedValue()
          .fill(UnsafeMutableRawBufferPointer(start: buffer, count: room))
      }, owner,
      { owner in
        guard let owner else { return }
        Unmanaged<EventClient>.fromOpaque(owner).takeRetainedValue().gone()
      })
    if response == nil { Unmanaged<EventClient>.fromOpaque(owner).takeRetainedValue().gone() }
    return response
  }

  fileprivate func forget(_ client: EventClient) {
    state.withLock { _ = $0.clients.removeValue(forKey: ObjectIdentifier(client)) }
  }
}

/// One client of an `EventHub`.
///
/// Its connection is suspended while there is nothing to send. Suspending and resuming happen under the
/// lock, so that neither is missed.
final class EventClient: Sendable {
  private struct State {
    var waiting: [UInt8] = []
    var isSuspended = false
    var isEnded = false
  }

  // libmicrohttpd's own, which it may be given on any thread.
  private nonisolated(unsafe) let connection: OpaquePointer
  private let hub: EventHub
  private let state = Mutex(State())

  /// What may wait for a client that does not read; it then has to come again.
  private static let mostWaiting = 64 << 10

  fileprivate init(_ connection: OpaquePointer, _ hub: EventHub) {
    self.connection = connection
    self.hub = hub
  }

  fileprivate func send(_ bytes: [UInt8]) {
    state.withLock { state in
      guard !state.isEnded else { return }
      state.waiting += bytes
      if state.waiting.count > Self.mostWaiting { state.isEnded = true }
      resume(&state)
    }
  }

  fileprivate func end() {
    state.withLock { state in
      state.isEnded = true
      resume(&state)
    }
  }

  private func resume(_ state: inout State) {
    guard state.isSuspended else { return }
    state.isSuspended = false
    MHD_resume_connection(connection)
  }

  /// Fills a buffer with what is to be sent, or suspends the connection. Called on its thread.
  fileprivate func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    state.withLock { state in
      let count = min(buffer.count, state.waiting.count)
      if count > 0 {
        buffer.copyBytes(from: state.waiting[..<count])
        state.waiting.removeFirst(count)
        return count
      }
      if state.isEnded { return pipeline_http_end_of_stream }
      state.isSuspended = true
      MHD_suspend_connection(connection)
      return 0
    }
  }

  /// The response is over.
  fileprivate func gone() {
    state.withLock { state in
      // Nobody may resume it any more.
      state.isSuspended = false
      state.isEnded = true
    }
    hub.forget(self)
  }
}
