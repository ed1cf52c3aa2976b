import Configuration
package import PipelineModel
package import PipelinePlugin

/// A plugin called in this process.
///
/// The library is never unloaded: its threads may still run, and text that it returned may still be
/// read.
package final class LibraryBackend: PluginBackend {
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

  package func makeInstance(
    options: JSONValue, context: InstanceContext
  ) throws(PluginFailure) -> any PluginInstance {
    InProcessInstance(
      instance: try makeLibraryInstance(options: options),
      estimator: try makeLibraryInstance(options: options),
      limit: context.limits.time ?? StageLimits.standardTime)
  }

  /// Creates a plugin instance for one set of options.
  func makeLibraryInstance(options: JSONValue) throws(PluginFailure) -> LibraryInstance {
    try LibraryInstance(table, plugin: manifest.id, options: options)
  }
}
