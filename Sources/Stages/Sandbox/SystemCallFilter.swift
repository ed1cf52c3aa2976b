internal import CSandbox
import Files
import Glibc
import PipelineModel

/// A system call filter under construction. Source: seccomp_init(3), seccomp(2).
///
/// Calls without a rule fail with ENOSYS, so that libraries that try a call newer than this list
/// fall back to an older one. A call of another architecture kills the process.
final class SystemCallFilter {
  /// A comparison of one argument of a call.
  struct Condition {
    var argument: UInt32
    var comparison: scmp_compare
    var first: UInt64
    var second: UInt64 = 0

    static func equals(_ argument: UInt32, _ value: UInt64) -> Condition {
      Condition(argument: argument, comparison: SCMP_CMP_EQ, first: value)
    }

    static func differs(_ argument: UInt32, from value: UInt64) -> Condition {
      Condition(argument: argument, comparison: SCMP_CMP_NE, first: value)
    }

    /// Compares only the bits of `mask`; the kernel ignores the upper half of an `int`.
    static func bits(_ argument: UInt32, _ mask: UInt64, equal value: UInt64) -> Condition {
      Condition(argument: argument, comparison: SCMP_CMP_MASKED_EQ, first: mask, second: value)
    }
  }

  // Only this object owns the handle; libseccomp frees it with `seccomp_release`.
  private let handle: scmp_filter_ctx

  /// Creates a filter that allows nothing.
  init() throws(SandboxError) {
    guard let handle = seccomp_init(Self.answer(with: ENOSYS)) else {
      throw SandboxError(.system, "The system call filter can't be created: out of memory.")
    }
    self.handle = handle
    // A tree rather than a list: eight comparisons per call instead of two hundred.
    try set(SCMP_FLTATR_CTL_OPTIMIZE, 2)
    // By default, libseccomp kills only the thread, and the others wait for it forever.
    try set(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS)
  }

  deinit { seccomp_release(handle) }

  /// Allows calls, either all or those that meet every condition.
  func allow(_ names: [String], when conditions: Condition...) throws(SandboxError) {
    for name in names { try add(SCMP_ACT_ALLOW, name, conditions) }
  }

  /// Lets calls fail with EPERM, either all or those that meet every condition.
  func refuse(_ names: [String], when conditions: Condition...) throws(SandboxError) {
    for name in names { try add(Self.answer(with: EPERM), name, conditions) }
  }

  /// Lets calls fail with EOPNOTSUPP, as on a file system that lacks them.
  func decline(_ names: [String]) throws(SandboxError) {
    for name in names { try add(Self.answer(with: EOPNOTSUPP), name, []) }
  }

  /// Restricts this process and what it starts for good.
  func enter() throws(SandboxError) {
    try check(seccomp_load(handle), "load the system call filter")
  }

  /// Makes this process and what it starts ask before they create a thread or a process.
  ///
  /// A separate filter that allows everything else, because the stricter answer of two filters
  /// counts.
  ///
  /// - Returns: where requests arrive; `nil` if the kernel or the library can't do this, or this
  ///   process already has a listener. Source: seccomp_unotify(2).
  static func askBeforeForking() -> Descriptor? {
    guard let handle = seccomp_init(SCMP_ACT_ALLOW) else { return nil }
    defer { seccomp_release(handle) }
    guard seccomp_attr_set(handle, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0
    else { return nil }
    for name in ["clone", "fork", "vfork"] {
      let number = seccomp_syscall_resolve_name(name)
      // Newer processors have only one of these calls.
      guard number >= 0 else { continue }
      guard seccomp_rule_add_array(handle, SCMP_ACT_NOTIFY, number, 0, nil) == 0 else {
        return nil
      }
    }
    guard seccomp_load(handle) == 0 else { return nil }
    let number = seccomp_notify_fd(handle)
    return number < 0 ? nil : Descriptor(takingOver: number, path: "seccomp")
  }

  private func add(
    _ action: UInt32, _ name: String, _ conditions: [Condition]
  ) throws(SandboxError) {
    // Negative if the library does not know the name or this architecture lacks the call. Nobody
    // can make such a call by name, and by number it is refused.
    let number = seccomp_syscall_resolve_name(name)
    guard number >= 0 else { return }
    let comparisons = conditions.map {
      scmp_arg_cmp(arg: $0.argument, op: $0.comparison, datum_a: $0.first, datum_b: $0.second)
    }
    try check(
      seccomp_rule_add_array(handle, action, number, UInt32(comparisons.count), comparisons),
      "add a rule for the system call “\(name)”")
  }

  private func set(_ attribute: scmp_filter_attr, _ value: UInt32) throws(SandboxError) {
    try check(seccomp_attr_set(handle, attribute, value), "configure the system call filter")
  }

  private func check(_ result: Int32, _ operation: String) throws(SandboxError) {
    if result < 0 { throw SandboxError(operation, errno: -result) }
  }

  private static func answer(with code: Int32) -> UInt32 {
    0x0005_0000 | UInt32(code)  // SCMP_ACT_ERRNO, a macro with an argument
  }
}
