import Files
import Glibc
package import PipelineModel
import Sandbox

/// The command `pipeline worker`: enters the sandbox, then serves the plugin.
///
/// Call it before this process has a second thread, because the sandbox does not confine existing
/// threads.
package enum WorkerMain {
  /// Never returns.
  ///
  /// - Parameter launch: the JSON that the program passed; anything else is a usage error.
  package static func run(_ launch: BytePath) -> Never {
    let decoded: WorkerLaunch
    do {
      decoded = try JSONText.decode(WorkerLaunch.self, from: launch.bytes)
    } catch {
      // The program's own launches decode, so this one was typed by hand.
      end(
        "pipeline: `pipeline worker` is internal: pipeline starts it for a plugin. Don't run it by "
          + "hand; see `pipeline --help`.", code: 2)
    }
    run(decoded)
  }

  private static func run(_ launch: WorkerLaunch) -> Never {
    do {
      CurrentProcess.endWithParent(launch.parent)
      if let group = launch.group { try ControlGroup.enter(group) }
      // If this fails, as with a read-only /proc, the limits still hold.
      try? CurrentProcess.offerToBeEnded()
      try CurrentProcess.enter(launch.folder)
      try launch.limits.apply()
      switch launch.plugin {
      case .library(let path):
        var policy = launch.policy
        // A plugin's libraries may be where this program's own are.
        policy.read += Sandbox.systemPlaces(policy)
        let refusal = PluginTrust.refusal(library: path)
        try Sandbox.enter(policy, names: [path])
        // A child may signal its whole group, as timeout(1) does, because it may not lead a group
        // of its own here. The host uses SIGKILL.
        if policy.exec { signal(SIGTERM, SIG_IGN) }
        try LibraryHost().run(library: path, refusal: refusal)
      case .executable(let words):
        guard let program = words.first else { end("no program was named") }
        try Sandbox.execute(
          program, arguments: Array(words.dropFirst()), environment: environment(launch),
          policy: launch.policy)
      }
    } catch let error as SandboxError {
      end(error.message)
    } catch let error as FileError {
      end(error.message)
    } catch {
      end("\(error)")
    }
  }

  private static func environment(_ launch: WorkerLaunch) -> [(String, String)] {
    launch.environment.compactMap { variable in
      guard let sign = variable.firstIndex(of: "=") else { return nil }
      return (String(variable[..<sign]), String(variable[variable.index(after: sign)...]))
    }
  }

  /// The host reports the last line of standard error as the reason.
  private static func end(_ message: String, code: Int32 = 1) -> Never {
    let line = Array((message + "\n").utf8)
    _ = write(STDERR_FILENO, line, line.count)
    _exit(code)
  }
}
