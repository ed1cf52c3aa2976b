package import PipelineModel

/// One configured use of a plugin.
package struct StageConfiguration: Sendable, Hashable {
  /// Where the plugin runs.
  package enum Isolation: String, Sendable, Hashable, CaseIterable {
    /// In worker processes.
    case process
    /// In the program itself.
    case none
  }

  /// Where the bytes of renditions are kept.
  package enum Storage: String, Sendable, Hashable, CaseIterable {
    /// Decided by size.
    case auto
    /// In SQLite.
    case database
    /// In the tree of renditions.
    case file
  }

  /// The name, which is also a folder and the end of a queue's label.
  package var name: String
  /// The id of the plugin.
  package var plugin: String
  /// The stages whose facts this one needs, as the file has them; none by default.
  package var needs: [String] = []
  /// How many jobs run at once; by default one for each processor.
  package var concurrency: Int
  /// What a job may use; unlimited by default, as far as the engine goes.
  package var limits = StageLimits()
  /// How often a job is tried; three times by default.
  package var attempts = 3
  /// Where the plugin runs; by default in worker processes.
  package var isolation = Isolation.process
  /// Where the bytes of renditions are kept; by default decided by size.
  package var storage = Storage.auto
  /// The plugin's options, an object, as the file has them; empty by default.
  package var options: JSONValue = .object([:])
  /// What the plugin may do in a worker beyond reading its input and writing its output; by default nothing.
  package var allow = StageAllowance()
  /// An executable plugin's program and its arguments. A program with a slash in it is
  /// an absolute path; one without is looked for in the system's folders, whatever `PATH` says.
  package var command: [String]?

  /// The most jobs of a stage that may run at once.
  package static let greatestConcurrency = 1024

  /// Makes a stage of defaults.
  package init(name: String, plugin: String) {
    self.name = name
    self.plugin = plugin
    concurrency = min(Machine.processors, Self.greatestConcurrency)
  }
}
