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
  /// Whether it asks before it makes a thread or a process; default no. See `ForkQuestions`.
  package var asksBeforeForking = false
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
}
