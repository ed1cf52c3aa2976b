import CLinux
import Glibc
package import PipelineModel

/// A stream socket with a name in a folder. Source: unix(7).
///
/// Uses the folder's descriptor, so that the path may exceed the 108 bytes of an address.
package struct LocalSocket: Sendable {
  /// The socket.
  package let descriptor: Descriptor

  /// Listens on a name in a folder, replacing an old one.
  ///
  /// Only the owner may connect. The caller must hold a lock that keeps others from listening.
  package static func listen(
    as name: BytePath, in folder: Descriptor
  ) throws(FileError) -> LocalSocket {
    do throws(FileError) {
      try folder.remove(name)
    } catch let error where error.code == .notFound {
      // An earlier process left nothing.
    }
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
        let socket = LocalSocket(
          descriptor: Descriptor(takingOver: number, path: descriptor.path))
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

  /// Makes calls that would block return at once.
  package func setNonBlocking() throws(FileError) { try descriptor.setNonBlocking() }

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
