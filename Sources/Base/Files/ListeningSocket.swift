import CLinux
import Glibc
package import PipelineModel

/// Sockets on which a server waits for connections.
package enum ListeningSocket {
  /// Connections that may wait to be accepted.
  private static let backlog: Int32 = 512

  /// Listens on an address of this machine. Source: ip(7), ipv6(7).
  ///
  /// - Parameters:
  ///   - host: an IPv4 or IPv6 address in numbers.
  ///   - port: the port; 0 for any free one.
  /// - Throws: `FileError` with the number `EADDRINUSE` if the port is taken, `EINVAL` if the host is
  ///   no address.
  package static func listen(on host: String, port: UInt16) throws(FileError) -> Descriptor {
    let name = BytePath("\(host):\(port)")
    var four = sockaddr_in()
    var six = sockaddr_in6()
    four.sin_family = sa_family_t(AF_INET)
    four.sin_port = port.bigEndian
    six.sin6_family = sa_family_t(AF_INET6)
    six.sin6_port = port.bigEndian
    if inet_pton(AF_INET, host, &four.sin_addr) == 1 {
      return try listen(AF_INET, name) { bind($0, &four, as: sockaddr_in.self) }
    }
    if inet_pton(AF_INET6, host, &six.sin6_addr) == 1 {
      return try listen(AF_INET6, name) { bind($0, &six, as: sockaddr_in6.self) }
    }
    throw FileError("listen on", name, errno: EINVAL)
  }

  /// Listens on a Unix socket that only this user may connect to, replacing one that nobody listens
  /// on any more. Source: unix(7).
  ///
  /// - Throws: `FileError` with the number `EADDRINUSE` if a process listens there, of code `exists` if
  ///   something else is there.
  package static func listen(at path: BytePath) throws(FileError) -> Descriptor {
    let folder = try Descriptor.openFolder(path.parent)
    if let status = try folder.statusIfThere(of: path.lastComponent) {
      guard status.kind == .socket else {
        throw FileError(
          .exists, "“\(path.printable)” is \(status.kind.name), not a socket.", path: path)
      }
      if try LocalSocket.connect(to: path.lastComponent, in: folder) != nil {
        throw FileError("listen on", path, errno: EADDRINUSE)
      }
    }
    let socket = try LocalSocket.listen(as: path.lastComponent, in: folder).descriptor
    try systemCall("listen on", path) { Glibc.listen(socket.number, backlog) }
    try socket.setNonBlocking()
    return socket
  }

  /// The name of a Unix socket that this process listens on.
  package struct Name {
    private let folder: Descriptor
    private let name: BytePath
    private let status: FileStatus

    /// - Parameter path: what `listen` has just made.
    package init(_ path: BytePath) throws(FileError) {
      folder = try Descriptor.openFolder(path.parent)
      name = path.lastComponent
      status = try folder.status(of: name)
    }

    /// Removes the name, unless another program has put a socket of its own in its place.
    package func removeIfOwn() {
      // Whoever listens next replaces a name that stays.
      guard let now = try? folder.statusIfThere(of: name), now.isSameNode(as: status) else {
        return
      }
      try? folder.removeIfThere(name)
    }
  }

  /// Takes over the only socket that the service manager listens on. Source: sd_listen_fds(3).
  ///
  /// - Parameter environment: supplies `LISTEN_PID` and `LISTEN_FDS`.
  /// - Returns: `nil` if it hands over none, or more than one.
  package static func inherit(_ environment: [String: String]) throws(FileError) -> Descriptor? {
    guard environment["LISTEN_PID"].flatMap({ Int32($0) }) == getpid(),
      environment["LISTEN_FDS"] == "1"
    else { return nil }
    // The first descriptor behind standard error.
    let socket = Descriptor(takingOver: 3, path: "the socket of the service manager")
    try systemCall("set", socket.path) { pipeline_fcntl(socket.number, F_SETFD, FD_CLOEXEC) }
    var isListening: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    try systemCall("examine", socket.path) {
      getsockopt(socket.number, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size)
    }
    guard isListening != 0 else { return nil }
    try socket.setNonBlocking()
    return socket
  }

  /// The port that a socket listens on; `nil` if it is no IPv4 or IPv6 socket.
  package static func port(of socket: Descriptor) throws(FileError) -> UInt16? {
    let address = try address(of: socket)
    // Both kinds have it in the same place.
    let family = Int32(address.sin6_family)
    return family == AF_INET || family == AF_INET6 ? UInt16(bigEndian: address.sin6_port) : nil
  }

  /// Whether an address in numbers is of this machine only.
  package static func isLoopback(_ host: String) -> Bool {
    var four = in_addr()
    if inet_pton(AF_INET, host, &four) == 1 { return UInt32(bigEndian: four.s_addr) >> 24 == 127 }
    return host == "::1"
  }

  /// Whether an address in numbers stands for all of this machine.
  package static func isWildcard(_ host: String) -> Bool {
    var six = in6_addr()
    if inet_pton(AF_INET6, host, &six) == 1 {
      return withUnsafeBytes(of: six) { $0.allSatisfy { $0 == 0 } }
    }
    return host == "0.0.0.0"
  }

  /// Whether only this machine reaches a listening socket.
  package static func isLocal(_ socket: Descriptor) throws(FileError) -> Bool {
    let address = try address(of: socket)
    let family = Int32(address.sin6_family)
    return withUnsafeBytes(of: address) { bytes in
      switch family {
      case AF_UNIX: true
      // The first byte of the address, behind family and port.
      case AF_INET: bytes[4] == 127
      case AF_INET6: bytes[8..<23].allSatisfy { $0 == 0 } && bytes[23] == 1
      default: false
      }
    }
  }

  /// The beginning of a socket's address, of whatever family. Source: getsockname(2).
  private static func address(of socket: Descriptor) throws(FileError) -> sockaddr_in6 {
    var address = sockaddr_in6()
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    try systemCall("examine", socket.path) {
      withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          getsockname(socket.number, $0, &size)
        }
      }
    }
    return address
  }

  private static func listen(
    _ family: Int32, _ name: BytePath, _ bind: (Int32) -> Int32
  ) throws(FileError) -> Descriptor {
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let number = try systemCall("make a socket for", name) { Glibc.socket(family, kind, 0) }
    let socket = Descriptor(takingOver: number, path: name)
    // A server that starts anew need not wait for old connections to be forgotten. Source: ip(7).
    var yes: Int32 = 1
    try systemCall("set", name) {
      setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    }
    try systemCall("listen on", name) { bind(number) }
    try systemCall("listen on", name) { Glibc.listen(number, backlog) }
    try socket.setNonBlocking()
    return socket
  }

  private static func bind<Address>(
    _ socket: Int32, _ address: inout Address, as type: Address.Type
  ) -> Int32 {
    withUnsafePointer(to: &address) { pointer in
      // All addresses begin like `sockaddr`; the kernel goes by the family.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.bind(socket, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
  }
}

extension Descriptor {
  /// Makes two connected stream sockets, which are close-on-exec. Source: socketpair(2).
  ///
  /// - Parameter name: what errors call them.
  package static func makeSocketPair(
    _ name: BytePath
  ) throws(FileError) -> (Descriptor, Descriptor) {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    try systemCall("make", name) { socketpair(AF_UNIX, kind, 0, &ends) }
    return (
      Descriptor(takingOver: ends[0], path: name), Descriptor(takingOver: ends[1], path: name)
    )
  }

  /// Waits until something can be read, or the peer has gone. Source: poll(2).
  ///
  /// - Returns: `false` if the time is up.
  package func waitForInput(until deadline: ContinuousClock.Instant) throws(FileError) -> Bool {
    while true {
      let left = max(.zero, deadline - .now)
      var descriptor = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
      // Rounded up, so that it does not spin in the last millisecond.
      let count = poll(&descriptor, 1, Int32(clamping: Int((left / .milliseconds(1)).rounded(.up))))
      let code = errno
      if count > 0 { return true }
      if count < 0, code != EINTR { throw FileError("wait for", path, errno: code) }
      if count == 0, left == .zero { return false }
    }
  }

  /// Ends both directions of a connection, also for who shares it. Source: shutdown(2).
  package func disconnect() {
    // It fails only if the other end is gone already.
    _ = shutdown(number, Int32(SHUT_RDWR))
  }
}
