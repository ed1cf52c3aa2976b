import CLinux
import Glibc

/// A read lease shows whether any process has a file open for writing, and blocks new writers while
/// held. Source: fcntl(2), “Leases”.
extension Descriptor {
  /// The result of requesting a lease.
  package enum Lease: Hashable, Sendable {
    /// Nobody writes, and new writers wait until the lease is released.
    case granted
    /// A process has the file open for writing.
    case refused
    /// Unknown: the file is not ours, or the file system has no leases.
    case unavailable
  }

  /// Requests a read lease.
  package func acquireLease() -> Lease {
    // The kernel announces a waiting writer by SIGIO, which by default ends the process;
    // `holdsLease` polls instead.
    signal(SIGIO, SIG_IGN)
    let result = pipeline_fcntl(number, Int32(pipeline_set_lease), Int32(pipeline_read_lease))
    if result == 0 { return .granted }
    return errno == EAGAIN ? .refused : .unavailable
  }

  /// Whether the lease is intact; with a waiting writer, the kernel reports its target type.
  package var holdsLease: Bool {
    pipeline_fcntl(number, Int32(pipeline_get_lease), 0) == Int32(pipeline_read_lease)
  }

  /// Releases the lease; closing the file does so, too.
  package func releaseLease() {
    _ = pipeline_fcntl(number, Int32(pipeline_set_lease), Int32(pipeline_no_lease))
  }
}
