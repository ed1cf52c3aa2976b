package import PipelineModel

/// A configured use of a plugin.
package struct StageConfiguration: Sendable, Hashable {
  /// Where the plugin runs.
  package enum Isolation: String, Sendable, Hashable, CaseIterable {
    /// In worker processes.
    case process
    /// In the program itself.
    case none
  }

  /// Where to store renditions.
  package enum Storage: String, Sendable, Hashable, CaseIterable {
    /// Depending on size.
    case auto
    /// In SQLite.
    case database
    /// In the tree of renditions.
    case file
  }

  /// The name, which is also the name of a folder and the end of a queue's label.
  package var name: String
  /// The ID of the plugin.
  package var plugin: String
  /// The stages whose facts this one needs, as in the file; none by default.
  package var needs: [String] = []
  /// How many jobs run at once; by default one per processor.
  package var concurrency: Int
  /// The limits of a job; none by default, until `StageLimits.filled` adds them.
  package var limits = StageLimits()
  /// How many times a job is tried; three by default.
  package var attempts = 3
  /// Where the plugin runs; by default in worker processes.
  package var isolation = Isolation.process
  /// Where to store renditions; by default depending on size.
  package var storage = Storage.auto
  /// The plugin's options, an object, as in the file; empty by default.
  package var options: JSONValue = .object([:])
  /// What the plugin may do in a worker beyond reading its input and writing its output; by
  /// default nothing.
  package var allow = StageAllowance()
  /// An executable plugin's program and arguments. A program with a slash is an absolute path; one
  /// without is searched in the system's folders, regardless of `PATH`.
  package var command: [String]?

  /// The most jobs of a stage that may run at once.
  package static let greatestConcurrency = 1024

  /// Makes a stage with default values.
  package init(name: String, plugin: String) {
    self.name = name
    self.plugin = plugin
    concurrency = min(Machine.processors, Self.greatestConcurrency)
  }
}
