import Dispatch
import Files
import Glibc
import Ingest
import PipelineModel
import Synchronization

/// Where other processes hand their requests to the one that holds the library.
///
/// Requests are read on a queue of their own and wait until the thread that
/// takes files serves them: one thread changes the library.
final class ControlSocket: Sendable {
  private struct State {
    var isClosed = false
    var listening: DescriptorEvents.Registration?
    var waiting: [ControlConnection] = []
    /// Those whose request is not done, kept alive.
    var connections: [ObjectIdentifier: ControlConnection] = [:]
  }

  private let socket: LocalSocket
  private let folder: Descriptor
  private let queue = DispatchQueue(label: "pipeline.control")
  private let state = Mutex(State())
  private let onArrival: @Sendable () -> Void

  /// Begins to listen in a library's folder.
  ///
  /// - Parameter onArrival: told on the socket's queue when a request waits.
  init(
    in folder: Descriptor, onArrival: @escaping @Sendable () -> Void
  ) throws(FileError) {
    self.folder = folder
    self.onArrival = onArrival
    socket = try LocalSocket.listen(as: LibraryLayout.control, in: folder)
    try socket.setNonBlocking()
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
    // Without this the name would be listened behind for as long as the process lives.
    if let listening = state.withLock({ $0.listening }) {
      DescriptorEvents.shared.forget(listening)
    }
  }

  /// Whether requests wait to be served.
  var hasRequests: Bool { state.withLock { !$0.waiting.isEmpty } }

  /// Does all requests that wait, on the thread that takes files.
  ///
  /// - Throws: if one failed between manifest and catalog: nothing more may be
  ///   done with the library before it was recovered.
  func serve(_ work: LibraryWork) throws(IngestError) {
    while let connection = state.withLock({ state in
      state.waiting.isEmpty ? nil : state.waiting.removeFirst()
    }) {
      guard let failure = connection.serve(work) else { continue }
      if try work.session.library.isBehind() {
        throw failure as? IngestError
          ?? IngestError(.catalog, "A request failed half-way: \(failure)", cause: failure)
      }
    }
  }

  /// Whether a request is being done, or its jobs are.
  var isBusy: Bool { state.withLock { $0.connections.values.contains { $0.isBusy } } }

  /// Stops listening; requests that wait are refused, and made elsewhere by those who asked.
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
      // A name that nobody listens behind is replaced by the next holder.
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

  /// More than these don't wait at the same time; others are sent away.
  private static let mostConnections = 64
  /// How long a connection may take to bring its request.
  private static let patience = DispatchTimeInterval.seconds(10)

  /// Takes all connections that wait.
  ///
  /// - Returns: whether others are to be heard of at once.
  private func accept() -> Bool {
    do throws(FileError) {
      while let peer = try socket.accept() {
        // The name is the owner's alone; root may do everything anyway.
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
      // No descriptor is free. The same connection would be told of again and again.
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
