import Glibc

/// How many files this process may have open. Source: getrlimit(2).
package enum DescriptorLimit {
  /// The limit as it is now.
  package static var current: Int {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    // Fails for a wrong argument only; 256 is what POSIX systems at least give.
    return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 256
  }

  /// Raises the limit as far as this process is allowed to.
  package static func raise(to wanted: Int) {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, rlim_t(wanted)))
    setrlimit(resource, &limit)
  }
}
