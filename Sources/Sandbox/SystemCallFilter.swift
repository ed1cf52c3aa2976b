internal import CSandbox
import Files
import Glibc
import PipelineModel

/// A filter of system calls that is being put together. Source: seccomp_init(3), seccomp(2).
///
/// What no rule allows is answered with “not implemented”, so that a library falls
/// back to an older call where it tries one that is newer than this list. A call
/// of another architecture than the program's own ends the process.
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

    /// Looks at the bits of `mask` alone; the kernel ignores the upper half of an `int`.
    static func bits(_ argument: UInt32, _ mask: UInt64, equal value: UInt64) -> Condition {
      Condition(
        argument: argument, comparison: SCMP_CMP_MASKED_EQ, first: mask, second: value)
    }
  }

  // The owner of this handle is this object alone; libseccomp frees it with `seccomp_release`.
  private let handle: scmp_filter_ctx

  /// Begins a filter that allows nothing.
  init() throws(SandboxError) {
    guard let handle = seccomp_init(Self.answer(with: ENOSYS)) else {
      throw SandboxError(.system, "The filter of system calls can't be made: no memory.")
    }
    self.handle = handle
    // A tree rather than a chain: a call costs eight comparisons, not two hundred.
    try set(SCMP_FLTATR_CTL_OPTIMIZE, 2)
    // The library's own default ends the thread alone, and leaves the others waiting for it.
    try set(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS)
  }

  deinit { seccomp_release(handle) }

  /// Lets calls through, all of them or those that meet every condition.
  func allow(_ names: [String], when conditions: Condition...) throws(SandboxError) {
    for name in names { try add(SCMP_ACT_ALLOW, name, conditions) }
  }

  /// Answers calls with “not permitted”, all of them or those that meet every condition.
  func refuse(_ names: [String], when conditions: Condition...) throws(SandboxError) {
    for name in names { try add(Self.answer(with: EPERM), name, conditions) }
  }

  /// Answers calls as a file system does that lacks them.
  func decline(_ names: [String]) throws(SandboxError) {
    for name in names { try add(Self.answer(with: EOPNOTSUPP), name, []) }
  }

  /// Holds this process and what it starts to the filter for good.
  func enter() throws(SandboxError) {
    try check(seccomp_load(handle), "enter the filter of system calls")
  }

  /// Has this process and what it starts ask before it makes a thread or a process.
  ///
  /// In a filter of its own that allows all else: of two filters the stricter answer counts.
  ///
  /// - Returns: where the questions arrive; `nil` where the kernel or the library can't, or
  ///   somebody listens to this process already. Source: seccomp_unotify(2).
  static func askBeforeForking() -> Descriptor? {
    guard let handle = seccomp_init(SCMP_ACT_ALLOW) else { return nil }
    defer { seccomp_release(handle) }
    guard seccomp_attr_set(handle, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0
    else { return nil }
    for name in ["clone", "fork", "vfork"] {
      let number = seccomp_syscall_resolve_name(name)
      // Newer processors have but one of them.
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
    // Negative for a name that the library does not know, or this architecture does
    // not have: nobody can make such a call by that name, and by number it is refused.
    let number = seccomp_syscall_resolve_name(name)
    guard number >= 0 else { return }
    let comparisons = conditions.map {
      scmp_arg_cmp(
        arg: $0.argument, op: $0.comparison, datum_a: $0.first, datum_b: $0.second)
    }
    try check(
      seccomp_rule_add_array(handle, action, number, UInt32(comparisons.count), comparisons),
      "make a rule for the system call “\(name)”")
  }

  private func set(_ attribute: scmp_filter_attr, _ value: UInt32) throws(SandboxError) {
    try check(seccomp_attr_set(handle, attribute, value), "set up the filter of system calls")
  }

  /// The library answers with a negative error number.
  private func check(_ result: Int32, _ operation: String) throws(SandboxError) {
    if result < 0 { throw SandboxError(operation, errno: -result) }
  }

  private static func answer(with code: Int32) -> UInt32 {
    0x0005_0000 | UInt32(code)  // SCMP_ACT_ERRNO, a macro with an argument
  }
}
