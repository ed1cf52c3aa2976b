import Configuration
package import PipelineModel
package import PipelinePlugin

/// A plugin that is called in this process.
///
/// The library is never unloaded: it may have threads, and text that it
/// returned may still be read.
package final class LibraryCarrier: Carrier {
  package let manifest: PluginManifest
  private let table: PluginTable

  /// Loads a library and asks the plugin in it what it is.
  ///
  /// Before any function of it is called, the file must belong to the user or
  /// root and be writable by nobody else, and a library with Swift in it must
  /// come from the compiler of this program.
  ///
  /// - Throws: `PluginFailure` of class `environment` where library and machine
  ///   don't fit, and `permanent` where the plugin is not one.
  package convenience init(path: BytePath) throws(PluginFailure) {
    try PluginTrust.check(library: path)
    try self.init(checked: path)
  }

  /// Loads a library that was found to be nobody else's.
  init(checked path: BytePath) throws(PluginFailure) {
    let library = try LoadedLibrary(path: path)
    try library.checkToolchain()
    table = try PluginTable(library)
    manifest = try table.manifest()
  }

  package func makeLane(
    options: JSONValue, site: LaneSite
  ) throws(PluginFailure) -> any Lane {
    InProcessLane(
      instance: try makeInstance(options: options), estimator: try makeInstance(options: options),
      limit: site.limits.time ?? StageLimits.standardTime)
  }

  /// Makes an instance of the plugin for one set of options.
  func makeInstance(options: JSONValue) throws(PluginFailure) -> PluginInstance {
    try PluginInstance(table, plugin: manifest.id, options: options)
  }
}
