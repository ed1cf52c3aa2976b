package import PipelineModel
package import Sandbox

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
