import Files
import Glibc
package import PipelineModel
package import Sandbox

/// The command `pipeline worker`: enters the sandbox, then serves the plugin.
///
/// Call it before this process has a second thread, because the sandbox does not confine existing
/// threads.
package enum WorkerMain {
  /// Never returns.
  ///
  /// - Parameter launch: the JSON that the program passed; anything else is a usage error.
  package static func run(_ launch: BytePath) -> Never {
    guard let decoded = try? JSONText.decode(WorkerLaunch.self, from: launch.bytes) else {
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

/// Everything that a worker process is told at its start.
///
/// It is the only argument of `pipeline worker`, as JSON.
package struct WorkerLaunch: Hashable, Codable, Sendable {
  /// A shared library that the worker loads, or a program that it executes.
  package enum Plugin: Hashable, Codable, Sendable {
    /// The absolute path of a library.
    case library(BytePath)
    /// A program and its arguments.
    case executable([BytePath])
  }

  /// The plugin.
  package var plugin: Plugin
  /// What the worker may access and do.
  package var policy: SandboxPolicy
  /// The limits that the kernel enforces.
  package var limits: ProcessLimits
  /// The worker's control group; `nil` for the host's.
  package var group: BytePath?
  /// The working folder.
  package var folder: BytePath
  /// The process that starts the worker.
  package var parent: Int32
  /// The complete environment, as `NAME=value`.
  package var environment: [String]

  /// The search path for programs without a slash in their name; independent of `PATH`, so that
  /// cron finds the same as a terminal.
  package static let searchPath = "/usr/local/bin:/usr/bin:/bin"
}
