package import Glibc

/// The address of a socket in the file system, as the socket calls take it.
package enum LocalAddress {
  /// Calls `body` with the address of a path, which is cut if it's too long for one.
  package static func with<Value>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value
  ) -> Value {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) {
      $0.copyBytes(from: path.utf8.prefix($0.count - 1))
    }
    return withUnsafePointer(to: address) {
      // All addresses begin like `sockaddr`; the kernel goes by the family.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// Whether a process listens at a path, which it may not yet do although the file is there.
  package static func isListening(at path: String) -> Bool {
    let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard client >= 0 else { return false }
    defer { close(client) }
    return with(path) { connect(client, $0, $1) } == 0
  }
}
