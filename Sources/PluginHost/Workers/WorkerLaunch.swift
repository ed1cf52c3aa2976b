package import PipelineModel
package import Sandbox

/// What a worker process is told when it is started: all that it is and may.
///
/// It is the one argument of `pipeline worker`, as JSON.
package struct WorkerLaunch: Hashable, Codable, Sendable {
  /// A shared library that the worker loads, or a program that it becomes.
  package enum Plugin: Hashable, Codable, Sendable {
    /// The absolute path of a library.
    case library(BytePath)
    /// A program and its arguments.
    case executable([BytePath])
  }

  /// The plugin.
  package var plugin: Plugin
  /// What it may reach and do.
  package var policy: SandboxPolicy
  /// What the kernel lets it use.
  package var limits: ProcessLimits
  /// The control group that it belongs to; `nil` for that of the program.
  package var group: BytePath?
  /// Its working folder.
  package var folder: BytePath
  /// The process that starts it.
  package var parent: Int32
  /// Its whole environment, as `NAME=value`.
  package var environment: [String]

  /// The folders where a program without a slash in its name is looked for, whatever
  /// `PATH` says, so that cron finds the same as a terminal.
  package static let searchPath = "/usr/local/bin:/usr/bin:/bin"
}
