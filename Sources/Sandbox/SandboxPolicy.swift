import Files
package import PipelineModel

/// What a worker may reach and do; made by the program, carried out by the worker itself.
///
/// What every program needs is allowed besides: the system's libraries and their
/// data, `/dev/null` and random numbers.
package struct SandboxPolicy: Hashable, Codable, Sendable {
  /// Files, or folders with all below them, that may be read.
  package var read: [BytePath]
  /// Folders in which files and folders may be made, read, written, renamed and removed.
  package var write: [BytePath]
  /// Programs that may be started, files or folders; their loader too. They may be read.
  package var execute: [BytePath]
  /// Whether the network may be used: IPv4 and IPv6, never Unix sockets; default no.
  package var network = false
  /// Whether other programs may be started, of `execute` and of the system; default no.
  package var exec = false
  /// Whether it may fork; default no. `exec` includes it.
  package var processes = false
  /// What no plugin may read, apart from what `read` and `write` name: neither it nor a folder
  /// that it is in. Paths without links.
  package var secrets: [BytePath] = []
  /// Folders of people that are not read because a program is in them or beside them; unlike
  /// secrets they may be where all may read. Paths without links.
  package var personal: [BytePath] = []
  /// Whether it asks before it makes a thread or a process; default no. See `ForkQuestions`.
  package var asksBeforeForking = false
  /// Whether what the policy doesn't allow is put out of sight; default yes. Without namespaces
  /// it is not: see `SandboxSupport`.
  package var hidesOthers = true
  /// The newest Landlock that is made use of; by default what the kernel has.
  ///
  /// For tests, which so see what an older kernel would do; 0 is one without.
  package var greatestLandlockABI: Int?

  /// Makes a policy that allows nothing but these paths.
  package init(read: [BytePath] = [], write: [BytePath] = [], execute: [BytePath] = []) {
    self.read = read
    self.write = write
    self.execute = execute
  }

  /// The first secret or personal folder that can be read by who can read a place.
  ///
  /// - Parameter place: a path without links.
  package func secret(in place: BytePath) -> BytePath? {
    (secrets + personal).first { $0.isInside(place) }
  }

  /// Refuses secrets where every plugin may read.
  func requireSecretsApart() throws(SandboxError) {
    for secret in secrets {
      guard let place = SystemPaths.readable.first(where: { secret.isInside($0) }) else { continue }
      throw SandboxError(
        .path,
        "“\(secret.printable)” is in “\(place.printable)”, where plugins may read, and can't be "
          + "kept from them: move it to another folder.", path: secret)
    }
  }

  /// Refuses a place that a program brings along and that holds a secret.
  func requireApart(_ place: Descriptor) throws(SandboxError) {
    guard let secret = secret(in: place.path) else { return }
    throw SandboxError(
      .path,
      "To run, the plugin's program needs “\(place.path.printable)”, which also holds "
        + "“\(secret.printable)”, and no plugin may read that: move one of them.",
      path: place.path)
  }
}

extension BytePath {
  /// Whether this is a place or something below it.
  func isInside(_ place: BytePath) -> Bool {
    self == place || relative(to: place) != nil
  }
}
