import Fixtures
import PipelineModel
import Testing

/// Starts the program as a service that may divide its control group.
enum Service {
  /// Whether this is a machine that systemd runs, as its root.
  static let isPossible: Bool = {
    var program = BuiltProgram(in: "/tmp")
    program.prefix = prefix + ["/bin/true"]
    return (try? program.run([]))?.exitCode == 0
  }()

  static let reason: Comment = "systemd does not start services for this user here."

  static let prefix = [
    "systemd-run", "--quiet", "--wait", "--pipe", "--collect", "--same-dir",
    "--property=Delegate=memory pids", "--property=OOMPolicy=continue",
    "--property=ProtectKernelTunables=yes",
  ]
}
