import CLinux
import Glibc
package import PipelineModel

/// A stream socket with a name in a folder. Source: unix(7).
///
/// Uses the folder's descriptor, so that the path may exceed the 108 bytes of an address.
package struct LocalSocket: Sendable {
  package let descriptor: Descriptor

  /// Listens on a name in a folder, replacing an old one.
  ///
  /// Only the owner may connect. The caller must hold a lock that keeps others from listening.
  package static func listen(
    as name: BytePath, in folder: Descriptor
  ) throws(FileError) -> LocalSocket {
    try folder.removeIfThere(name)
    let socket = try make(name, in: folder)
    // On Linux, the name gets the permissions that the socket has when bound, so it is the owner's
    // alone from the start.
    try socket.setPermissions(0o600)
    var address = try address(of: name, in: folder)
    try systemCall("make", socket.path) {
      withAddress(&address) { bind(socket.number, $0, $1) }
    }
    try systemCall("listen on", socket.path) { Glibc.listen(socket.number, 16) }
    return LocalSocket(descriptor: socket)
  }

  /// Connects to a name in a folder.
  ///
  /// - Returns: `nil` if no process listens there.
  package static func connect(
    to name: BytePath, in folder: Descriptor
  ) throws(FileError) -> LocalSocket? {
    let socket = try make(name, in: folder)
    var address = try address(of: name, in: folder)
    while withAddress(&address, { Glibc.connect(socket.number, $0, $1) }) < 0 {
      let code = errno
      switch code {
      case EINTR: continue
      case ENOENT, ECONNREFUSED: return nil
      default: throw FileError("connect to", socket.path, errno: code)
      }
    }
    return LocalSocket(descriptor: socket)
  }

  /// Accepts the next waiting connection; `nil` if a non-blocking socket has none.
  package func accept() throws(FileError) -> LocalSocket? {
    while true {
      let number = pipeline_accept(descriptor.number)
      if number >= 0 {
        let socket = LocalSocket(descriptor: Descriptor(takingOver: number, path: descriptor.path))
        try Self.limitSending(on: socket.descriptor)
        return socket
      }
      let code = errno
      switch code {
      case EINTR, ECONNABORTED: continue
      case EAGAIN: return nil
      default: throw FileError("accept on", descriptor.path, errno: code)
      }
    }
  }

  /// The user ID of the peer when it connected.
  package func peer() throws(FileError) -> UInt32 {
    var peer = pipeline_peer()
    var size = socklen_t(MemoryLayout<pipeline_peer>.size)
    try systemCall("examine", descriptor.path) {
      getsockopt(descriptor.number, SOL_SOCKET, SO_PEERCRED, &peer, &size)
    }
    return peer.user
  }

  /// Sends all bytes, waiting at most five seconds at a time for the peer.
  package func send(_ bytes: [UInt8]) throws(FileError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = try systemCall("write", descriptor.path) {
        rest.withUnsafeBytes {
          Glibc.send(descriptor.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
      }
      rest = rest.dropFirst(count)
    }
  }

  /// The next bytes, waiting for some unless the socket is non-blocking; none when the peer has
  /// disconnected.
  package func receive() throws(FileError) -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    defer { buffer.deallocate() }
    do throws(FileError) {
      let count = try descriptor.read(into: buffer)
      return Array(buffer[..<count])
    } catch {
      if error.errno != ECONNRESET { throw error }
      return []
    }
  }

  private static func make(
    _ name: BytePath, in folder: Descriptor
  ) throws(FileError) -> Descriptor {
    let path = folder.path.appending(name)
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let number = try systemCall("make", path) { socket(AF_UNIX, kind, 0) }
    let descriptor = Descriptor(takingOver: number, path: path)
    try limitSending(on: descriptor)
    return descriptor
  }

  private static func limitSending(on socket: Descriptor) throws(FileError) {
    var limit = timeval(tv_sec: 5, tv_usec: 0)
    try systemCall("set", socket.path) {
      setsockopt(
        socket.number, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  /// Calls `body` with an address as the socket calls take it.
  private static func withAddress<Result>(
    _ address: inout sockaddr_un, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    withUnsafePointer(to: &address) { pointer in
      // All addresses begin like `sockaddr`; the kernel goes by the family.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  private static func address(
    of name: BytePath, in folder: Descriptor
  ) throws(FileError) -> sockaddr_un {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = BytePath("/proc/self/fd/\(folder.number)").appending(name)
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    guard path.bytes.count < capacity else {
      throw FileError(.other, "“\(name.printable)” is too long for a socket.", path: path)
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.bytes) }
    return address
  }
}

/// A sender of datagrams to another process's Unix socket. Source: unix(7).
package struct DatagramSender: Sendable {
  private let socket: Descriptor
  private let path: BytePath

  /// Creates a sender without connecting, so the listener may start later or restart.
  ///
  /// - Parameter path: an absolute path, or `@` and an abstract name.
  /// - Throws: `FileError` if it is neither, or exceeds the kernel's limit.
  package init(to path: BytePath) throws(FileError) {
    self.path = path
    let first = path.bytes.first
    // The kernel needs a zero byte after a path.
    let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
    guard first == UInt8(ascii: "/") || first == UInt8(ascii: "@"), path.bytes.count > 1,
      path.bytes.count <= limit
    else {
      throw FileError(.other, "“\(path.printable)” is not a socket address.", path: path)
    }
    let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let number = try systemCall("make a socket for", path) { Glibc.socket(AF_UNIX, kind, 0) }
    socket = Descriptor(takingOver: number, path: path)
    // A listener that stopped reading must not block the sender, so sends time out.
    var patience = timeval(tv_sec: 2, tv_usec: 0)
    try systemCall("set up the socket for", path) {
      setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  package func send(_ bytes: [UInt8]) throws(FileError) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.bytes) }
    let isAbstract = path.bytes.first == UInt8(ascii: "@")
    if isAbstract { address.sun_path.0 = 0 }
    let prefix = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    // An abstract name is exactly its bytes; a path ends with a zero byte.
    let length = socklen_t(prefix + path.bytes.count + (isAbstract ? 0 : 1))
    let count = try systemCall("send to", path) {
      bytes.withUnsafeBytes { payload in
        withUnsafePointer(to: address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            Glibc.sendto(
              socket.number, payload.baseAddress, payload.count, Int32(MSG_NOSIGNAL), $0,
              length)
          }
        }
      }
    }
    guard count == bytes.count else {
      throw FileError(.other, "“\(path.printable)” accepted only part of a message.", path: path)
    }
  }
}
