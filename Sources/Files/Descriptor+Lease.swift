import CLinux
import Glibc

/// A read lease tells whether anybody has a file open for writing, and keeps a
/// new writer waiting while it is held. Source: fcntl(2), “Leases”.
extension Descriptor {
  /// What came of asking for a lease.
  package enum Lease: Hashable, Sendable {
    /// Nobody writes, and whoever wants to has to wait until the lease goes.
    case granted
    /// Somebody has the file open for writing.
    case refused
    /// The file is not ours or the file system has no leases: nothing is known.
    case unavailable
  }

  /// Asks for a read lease.
  package func takeLease() -> Lease {
    // The kernel announces a waiting writer by SIGIO, whose default is to end
    // the process; `holdsLease` asks instead.
    signal(SIGIO, SIG_IGN)
    let result = pipeline_fcntl(number, Int32(pipeline_set_lease), Int32(pipeline_read_lease))
    if result == 0 { return .granted }
    return errno == EAGAIN ? .refused : .unavailable
  }

  /// Whether the lease is still ours: a writer that waits makes the kernel name its target instead.
  package var holdsLease: Bool {
    pipeline_fcntl(number, Int32(pipeline_get_lease), 0) == Int32(pipeline_read_lease)
  }

  /// Lets the lease go; closing does it, too.
  package func releaseLease() {
    _ = pipeline_fcntl(number, Int32(pipeline_set_lease), Int32(pipeline_no_lease))
  }
}
