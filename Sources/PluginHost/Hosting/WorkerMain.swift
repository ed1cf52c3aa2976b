import Files
import Glibc
package import PipelineModel
import Sandbox

/// What `pipeline worker` does: lock itself in, then be the plugin.
///
/// Called before this process has a second thread, because a thread that exists
/// already would stay free.
package enum WorkerMain {
  /// Never returns.
  ///
  /// - Parameter launch: the JSON that the program passed; anything else is a wrong usage.
  package static func run(_ launch: BytePath) -> Never {
    let decoded: WorkerLaunch
    do {
      decoded = try JSONText.decode(WorkerLaunch.self, from: launch.bytes)
    } catch {
      // The program's own launches can be decoded, so this one is somebody's at a terminal.
      end(
        "pipeline: `pipeline worker` is how pipeline itself starts a process for a plugin, and "
          + "nothing to be called by hand. See `pipeline --help`.", code: 2)
    }
    run(decoded)
  }

  private static func run(_ launch: WorkerLaunch) -> Never {
    do {
      OwnProcess.endWithParent(launch.parent)
      if let group = launch.group { try ControlGroup.enter(group) }
      // Where it can't be had, as with a read-only /proc, the limits hold all the same.
      try? OwnProcess.offerToBeEnded()
      try OwnProcess.enter(launch.folder)
      try launch.limits.apply()
      switch launch.plugin {
      case .library(let path):
        var policy = launch.policy
        // Where this program's own libraries are, a plugin's may be, too.
        policy.read += Sandbox.systemPlaces(policy)
        let refusal = PluginTrust.refusal(library: path)
        try Sandbox.enter(policy, names: [path])
        // A program that it starts may send the whole group a signal, as timeout(1) does: it may
        // not lead a group of its own here. The program that started this one has SIGKILL.
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

  /// The program takes the last line of standard error as the reason.
  private static func end(_ message: String, code: Int32 = 1) -> Never {
    let line = Array((message + "\n").utf8)
    _ = write(STDERR_FILENO, line, line.count)
    _exit(code)
  }
}
