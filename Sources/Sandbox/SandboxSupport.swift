internal import CSandbox
import Glibc

/// What of a sandbox the kernel has.
package struct SandboxSupport: Hashable, Codable, Sendable {
  /// The version of Landlock; 0 where it is not built in, or not switched on.
  package var landlockABI: Int
  /// Whether system calls can be filtered.
  package var seccomp: Bool
  /// Whether a worker can be asked before it makes a thread or a process.
  package var asksBeforeForking: Bool
  /// Whether workers have a root folder of their own, without which Landlock alone hides files.
  package var hidesOthers: Bool

  /// Why a worker can't be given a root folder of its own; `nil` if it can.
  ///
  /// A child process tries once, which takes a millisecond. Source: clone(2), pivot_root(2).
  package static let privateRootRefusal: String? =
    PrivateRoot.refusal().map { String(cString: strerror($0)) }

  /// Makes what a kernel might have.
  package init(
    landlockABI: Int, seccomp: Bool, asksBeforeForking: Bool = true, hidesOthers: Bool = false
  ) {
    self.landlockABI = landlockABI
    self.seccomp = seccomp
    self.asksBeforeForking = asksBeforeForking
    self.hidesOthers = hidesOthers
  }

  /// Asks the kernel. Source: landlock_create_ruleset(2), seccomp(2).
  package static func probe() -> SandboxSupport {
    SandboxSupport(
      landlockABI: max(0, Int(pipeline_landlock_abi())),
      seccomp: pipeline_seccomp_available() != 0,
      asksBeforeForking: pipeline_questions_available() != 0)
  }

  /// Whether files outside of a job can be kept from a plugin.
  ///
  /// Landlock does, and so does a root folder of its own: but root could change the machine's
  /// settings in `/proc`, which that shows.
  package var keepsFilesApart: Bool { landlockABI > 0 || hidesOthers && geteuid() != 0 }

  /// Asks the kernel, and tries whether a worker can be given a root folder of its own.
  package static func probeWithNamespaces() -> SandboxSupport {
    var support = probe()
    support.hidesOthers = privateRootRefusal == nil
    return support
  }

  /// What this version of Landlock can't deny, a line each; empty with version 6 or newer.
  package var missing: [String] {
    var missing: [String] = []
    if !keepsFilesApart {
      missing.append(
        "files outside of a job can't be kept from a plugin, which can read, remove and rename them"
      )
    }
    if landlockABI < 2 { missing.append("files can't be moved from one folder to another") }
    if landlockABI < 3 { missing.append("truncating is denied by the filter of calls alone") }
    if landlockABI < 4 { missing.append("TCP is denied by the filter of calls alone") }
    if landlockABI < 5 { missing.append("commands to devices are denied by the filter alone") }
    if landlockABI < 6 {
      missing.append("a plugin that may fork can't signal even the processes that it made")
    }
    if !seccomp { missing.append("system calls can't be filtered, so plugins can't run") }
    return missing
  }
}
