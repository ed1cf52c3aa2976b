internal import CSandbox
import Glibc

/// The sandbox features of the kernel.
package struct SandboxSupport: Hashable, Codable, Sendable {
  /// The version of Landlock; 0 if it is not built in or not enabled.
  package var landlockABI: Int
  /// Whether system calls can be filtered.
  package var seccomp: Bool
  /// Whether a worker can ask before it creates a thread or a process.
  package var asksBeforeForking: Bool
  /// Whether workers get a private root; without it, only Landlock protects files.
  package var hidesOthers: Bool

  /// Why a worker can't get a private root; `nil` if it can.
  ///
  /// Tried once in a child process, which takes a millisecond. Source: clone(2), pivot_root(2).
  package static let privateRootRefusal: String? =
    PrivateRoot.refusal().map { String(cString: strerror($0)) }

  /// Creates a set of features, as for a test.
  package init(
    landlockABI: Int, seccomp: Bool, asksBeforeForking: Bool = true, hidesOthers: Bool = false
  ) {
    self.landlockABI = landlockABI
    self.seccomp = seccomp
    self.asksBeforeForking = asksBeforeForking
    self.hidesOthers = hidesOthers
  }

  /// Queries the kernel. Source: landlock_create_ruleset(2), seccomp(2).
  package static func probe() -> SandboxSupport {
    SandboxSupport(
      landlockABI: max(0, Int(pipeline_landlock_abi())),
      seccomp: pipeline_seccomp_available() != 0,
      asksBeforeForking: pipeline_questions_available() != 0)
  }

  /// Whether a plugin can be kept from files outside its job.
  ///
  /// Landlock does that, and so does a private root, except for root: that could change the
  /// machine's settings in the visible `/proc`.
  package var keepsFilesApart: Bool { landlockABI > 0 || hidesOthers && geteuid() != 0 }

  /// Queries the kernel, and tries to create a private root.
  package static func probeWithNamespaces() -> SandboxSupport {
    var support = probe()
    support.hidesOthers = privateRootRefusal == nil
    return support
  }

  /// What this version of Landlock can't deny, one line each; empty from version 6 on.
  package var missing: [String] {
    var missing: [String] = []
    if !keepsFilesApart {
      missing.append(
        "files outside of a job can't be kept from a plugin, which can read, remove and rename them"
      )
    }
    if landlockABI < 2 { missing.append("files can't be moved from one folder to another") }
    if landlockABI < 3 { missing.append("only the system call filter denies truncation") }
    if landlockABI < 4 { missing.append("only the system call filter denies TCP") }
    if landlockABI < 5 { missing.append("only the system call filter denies commands to devices") }
    if landlockABI < 6 {
      missing.append("a plugin that may fork can't signal even the processes that it made")
    }
    if !seccomp { missing.append("system calls can't be filtered, so plugins can't run") }
    return missing
  }
}
