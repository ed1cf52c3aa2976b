import Glibc

/// The limit of open files of this process. Source: getrlimit(2).
package enum DescriptorLimit {
  /// The current limit.
  package static var current: Int {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    // Fails only for a wrong argument; 256 is what any POSIX system allows.
    return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 256
  }

  /// Raises the limit as far as the hard limit allows.
  package static func raise(to wanted: Int) {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, rlim_t(wanted)))
    setrlimit(resource, &limit)
  }
}
