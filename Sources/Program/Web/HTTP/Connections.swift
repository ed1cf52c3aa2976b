import CMicroHTTPD
import Files
import Glibc
import Synchronization

/// The open connections: how many each address has, how long their requests take to come, and who goes away
/// before the answer.
final class Connections: Sendable {
  private struct Entry {
    var descriptor: Int32
    var address: Address?
    /// Since when a request is awaited; `nil` while one is answered.
    var since: ContinuousClock.Instant?
    /// What to do if the client goes away before it has its answer.
    var whenGone: (@Sendable () -> Void)?

    /// Sets since when a request is awaited, and forgets who waits for an answer.
    mutating func setAwaited(since: ContinuousClock.Instant?) {
      self.since = since
      whenGone = nil
    }
  }

  private struct State {
    var entries: [UInt: Entry] = [:]
    var counts: [Address: Int] = [:]
  }

  /// The bytes of an address outside this machine.
  private typealias Address = [UInt8]

  private let state = Mutex(State())

  /// All connections together, and those of one address of another machine: a proxy on this one has many
  /// clients.
  static let most: UInt32 = 2000
  private static let mostOfAddress = 100
  /// How long a request may take to come, from the beginning of its connection or the end of the last
  /// answer to its last byte.
  private static let patience = Duration.seconds(15)

  /// Whether another connection from an address may be accepted.
  func accepts(_ address: UnsafePointer<sockaddr>?) -> Bool {
    guard let address = Self.address(address) else { return true }
    return state.withLock { $0.counts[address, default: 0] < Self.mostOfAddress }
  }

  func opened(_ connection: OpaquePointer) {
    let descriptor = pipeline_http_descriptor(connection)
    let address = Self.address(pipeline_http_address(connection))
    state.withLock { state in
      state.entries[UInt(bitPattern: connection)] = Entry(
        descriptor: descriptor, address: address, since: .now)
      if let address { state.counts[address, default: 0] += 1 }
    }
  }

  func closed(_ connection: OpaquePointer) {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: UInt(bitPattern: connection)),
        let address = entry.address, let count = state.counts[address]
      else { return }
      state.counts[address] = count > 1 ? count - 1 : nil
    }
  }

  /// The whole request has come.
  func requested(_ connection: OpaquePointer) { set(connection, since: nil) }

  /// The answer was sent.
  func answered(_ connection: OpaquePointer) { set(connection, since: .now) }

  private func set(_ connection: OpaquePointer, since: ContinuousClock.Instant?) {
    state.withLock { $0.entries[UInt(bitPattern: connection)]?.setAwaited(since: since) }
  }

  /// Has something done once if the client of a suspended connection goes away, which libmicrohttpd does not
  /// notice.
  func watch(_ connection: OpaquePointer, _ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.entries[UInt(bitPattern: connection)]?.whenGone = action }
  }

  /// Does what is to be done for clients that have gone away; to be called every second or so.
  func tellOfGoneOnes() {
    let actions = state.withLock { state in
      var actions: [@Sendable () -> Void] = []
      for (key, entry) in state.entries {
        guard let action = entry.whenGone, Self.isGone(entry.descriptor) else { continue }
        state.entries[key]?.whenGone = nil
        actions.append(action)
      }
      return actions
    }
    for action in actions { action() }
  }

  /// Whether a client sends nothing any more: it has closed its connection, or at least its side.
  private static func isGone(_ descriptor: Int32) -> Bool {
    // POLLRDHUP, which <poll.h> has under _GNU_SOURCE only. Source: poll(2).
    var one = pollfd(fd: descriptor, events: 0x2000, revents: 0)
    return poll(&one, 1, 0) > 0
  }

  /// Ends the connections whose requests take too long to come; to be called every second or so.
  func endSlowOnes() {
    let now = ContinuousClock.now
    state.withLock { state in
      for (key, entry) in state.entries {
        guard let since = entry.since, now - since > Self.patience else { continue }
        // Not closed here: that is for the thread of the connection, which reports it before it does.
        _ = shutdown(entry.descriptor, Int32(SHUT_RDWR))
        state.entries[key]?.since = nil
      }
    }
  }

  /// `nil` for this machine.
  private static func address(_ pointer: UnsafePointer<sockaddr>?) -> Address? {
    guard let pointer else { return nil }
    let raw = UnsafeRawPointer(pointer)
    switch Int32(pointer.pointee.sa_family) {
    case AF_INET:
      var address = raw.loadUnaligned(as: sockaddr_in.self).sin_addr
      let bytes = withUnsafeBytes(of: &address) { Array($0) }
      return bytes[0] == 127 ? nil : bytes
    case AF_INET6:
      var address = raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      let bytes = withUnsafeBytes(of: &address) { Array($0) }
      // An IPv4 client of a socket for both.
      if bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF {
        return bytes[12] == 127 ? nil : Array(bytes.suffix(4))
      }
      // One network has as many addresses as it likes.
      return bytes.dropLast().allSatisfy { $0 == 0 } ? nil : Array(bytes.prefix(8))
    default: return nil
    }
  }
}
