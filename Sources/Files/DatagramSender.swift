import Glibc
package import PipelineModel

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
      setsockopt(
        number, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  /// Sends one datagram.
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
