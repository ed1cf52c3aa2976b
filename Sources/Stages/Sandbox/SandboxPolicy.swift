import Files
package import PipelineModel

/// What a worker may access and do; written by the program, enforced by the worker itself.
///
/// In addition, every worker may use the system's libraries and their data, `/dev/null` and random
/// numbers.
package struct SandboxPolicy: Hashable, Codable, Sendable {
  /// Readable files, and folders with everything below them.
  package var read: [BytePath]
  /// Folders in which files and folders may be created, read, written, renamed and removed.
  package var write: [BytePath]
  /// Executable and readable files or folders; their loaders are included.
  package var execute: [BytePath]
  /// Whether IPv4 and IPv6 may be used (Unix sockets never); default no.
  package var network = false
  /// Whether it may accept connections on a socket that it was given; default no. It still can't
  /// connect to anything itself.
  package var serves = false
  /// Whether it may start other programs, from `execute` and the system; default no.
  package var exec = false
  /// Whether it may fork; default no. Implied by `exec`.
  package var processes = false
  /// Paths that no plugin may read, nor folders that contain them, unless `read` or `write` names
  /// them. Without links.
  package var secrets: [BytePath] = []
  /// Personal folders, which do not become readable because a program is in or next to them; unlike
  /// secrets, they may be in places that all plugins may read. Paths without links.
  package var personal: [BytePath] = []
  /// Whether it asks before creating a thread or a process; default no. See `ForkRequests`.
  package var asksBeforeForking = false
  /// Whether to hide everything that the policy does not allow; default yes. Requires namespaces:
  /// see `SandboxSupport`.
  package var hidesOthers = true
  /// The newest Landlock version to use; by default the kernel's.
  ///
  /// For tests that imitate older kernels; 0 stands for a kernel without Landlock.
  package var greatestLandlockABI: Int?

  /// Creates a policy that allows only these paths.
  package init(read: [BytePath] = [], write: [BytePath] = [], execute: [BytePath] = []) {
    self.read = read
    self.write = write
    self.execute = execute
  }

  /// The policy of a server that reads some folders, and answers on a socket that it was given.
  package static func serving(_ folders: [BytePath]) -> SandboxPolicy {
    var policy = SandboxPolicy(read: folders)
    policy.serves = true
    return policy
  }

  /// Returns the first secret or personal folder that is at or below a place.
  ///
  /// - Parameter place: a path without links.
  package func secret(in place: BytePath) -> BytePath? {
    (secrets + personal).first { $0.isInside(place) }
  }

  /// Refuses secrets in places that every plugin may read.
  func requireSecretsApart() throws(SandboxError) {
    for secret in secrets {
      guard let place = SystemPaths.readable.first(where: { secret.isInside($0) }) else { continue }
      throw SandboxError(
        .path,
        "“\(secret.printable)” is in “\(place.printable)”, which plugins may read, so it can't be "
          + "kept from them: move it to another folder.")
    }
  }

  /// Refuses a place that a program requires and that contains a secret.
  func requireApart(_ place: Descriptor) throws(SandboxError) {
    guard let secret = secret(in: place.path) else { return }
    throw SandboxError(
      .path,
      "To run, the plugin's program needs “\(place.path.printable)”, which also holds "
        + "“\(secret.printable)”, and no plugin may read that: move one of them.")
  }
}

extension BytePath {
  /// Whether this is a place or below it.
  func isInside(_ place: BytePath) -> Bool {
    self == place || relative(to: place) != nil
  }
}
