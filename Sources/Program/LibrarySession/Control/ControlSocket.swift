import Dispatch
import Files
import Glibc
import Ingest
import Synchronization

/// The socket through which other processes hand requests to the library's holder.
///
/// A separate queue reads requests; they wait until the main thread serves
/// them, because only one thread changes the library.
final class ControlSocket: Sendable {
  private struct State {
    var isClosed = false
    var listening: DescriptorEvents.Registration?
    var waiting: [ControlConnection] = []
    /// Keeps unfinished connections alive.
    var connections: [ObjectIdentifier: ControlConnection] = [:]
  }

  private let socket: LocalSocket
  private let folder: Descriptor
  private let queue = DispatchQueue(label: "pipeline.control")
  private let state = Mutex(State())
  private let onArrival: @Sendable () -> Void

  /// Starts listening in a library's folder.
  ///
  /// - Parameter onArrival: called on the socket's queue when a request waits.
  init(in folder: Descriptor, onArrival: @escaping @Sendable () -> Void) throws(FileError) {
    self.folder = folder
    self.onArrival = onArrival
    socket = try LocalSocket.listen(as: LibraryLayout.control, in: folder)
    try socket.descriptor.setNonBlocking()
    listen()
  }

  private func listen() {
    let listening = DescriptorEvents.shared.read(socket.descriptor, on: queue) { [weak self] in
      self?.accept() ?? false
    }
    let isClosed = state.withLock { state in
      state.listening = listening
      return state.isClosed
    }
    if isClosed { DescriptorEvents.shared.forget(listening) }
  }

  deinit {
    // Otherwise the process would listen on the socket until it exits.
    if let listening = state.withLock({ $0.listening }) {
      DescriptorEvents.shared.forget(listening)
    }
  }

  var hasRequests: Bool { state.withLock { !$0.waiting.isEmpty } }

  /// Serves all waiting requests on the main thread.
  ///
  /// - Throws: if a request failed after writing the manifest but before the
  ///   catalog; the library must be recovered before any further work.
  func serve(_ handler: RequestHandler) throws {
    while let connection = state.withLock({ state in
      state.waiting.isEmpty ? nil : state.waiting.removeFirst()
    }) {
      guard let failure = connection.serve(handler) else { continue }
      if try handler.isBehind() { throw failure }
    }
  }

  /// Whether a request or its jobs are in progress.
  var isBusy: Bool { state.withLock { $0.connections.values.contains { $0.isBusy } } }

  /// Stops listening and refuses waiting requests; their senders then retry elsewhere.
  func close() {
    let (isFirst, listening) = state.withLock { state in
      defer { state.isClosed = true }
      return (!state.isClosed, state.listening)
    }
    guard isFirst else { return }
    if let listening { DescriptorEvents.shared.forget(listening) }
    do throws(FileError) {
      try folder.remove(LibraryLayout.control)
    } catch {
      // The next holder replaces a stale socket.
    }
    queue.sync {
      let all = state.withLock { state in
        defer {
          state.waiting = []
          state.connections = [:]
        }
        return Array(state.connections.values)
      }
      for connection in all { connection.end() }
    }
  }

  /// Further connections are closed at once.
  private static let mostConnections = 64
  /// How long a connection may take to send its request.
  private static let patience = DispatchTimeInterval.seconds(10)

  /// Accepts all pending connections.
  ///
  /// - Returns: whether to keep listening.
  private func accept() -> Bool {
    do throws(FileError) {
      while let peer = try socket.accept() {
        // Only the owner may connect; root can do everything anyway.
        guard [geteuid(), 0].contains(try peer.peer()),
          state.withLock({ $0.connections.count < Self.mostConnections })
        else { continue }
        let connection = ControlConnection(peer, queue: queue)
        state.withLock { $0.connections[ObjectIdentifier(connection)] = connection }
        connection.read { [weak self, weak connection] event in
          guard let self, let connection else { return }
          heard(event, from: connection)
        }
        queue.asyncAfter(deadline: .now() + Self.patience) { [weak connection] in
          connection?.expire()
        }
      }
      return true
    } catch {
      // No descriptor is free: the same pending connection would be reported in a loop.
      queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in self?.listen() }
      return false
    }
  }

  private func heard(_ event: ControlConnection.Event, from connection: ControlConnection) {
    switch event {
    case .request:
      let isTaken = state.withLock { state in
        if state.isClosed { return false }
        state.waiting.append(connection)
        return true
      }
      if isTaken { onArrival() } else { connection.end() }
    case .ended:
      state.withLock { state in
        state.connections[ObjectIdentifier(connection)] = nil
        state.waiting.removeAll { $0 === connection }
      }
    }
  }
}
