import Configuration
package import PipelineModel
package import PipelinePlugin

/// A plugin called in this process.
///
/// The library is never unloaded: its threads may still run, and text that it returned may still be
/// read.
package final class LibraryCarrier: Carrier {
  package let manifest: PluginManifest
  private let table: PluginTable

  /// Loads a library and reads its plugin's manifest.
  ///
  /// Before any of its functions is called, the file must belong to the user or root and be
  /// writable by nobody else, and a library that contains Swift must come from this program's
  /// compiler.
  ///
  /// - Throws: `PluginFailure` of class `environment` if the library does not suit this machine,
  ///   and `permanent` if it is not a valid plugin.
  package convenience init(path: BytePath) throws(PluginFailure) {
    try PluginTrust.check(library: path)
    try self.init(checked: path)
  }

  /// Loads a library that has already passed `PluginTrust`.
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

  /// Creates a plugin instance for one set of options.
  func makeInstance(options: JSONValue) throws(PluginFailure) -> PluginInstance {
    try PluginInstance(table, plugin: manifest.id, options: options)
  }
}
