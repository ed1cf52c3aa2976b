import Files
package import PipelineModel
package import PipelinePlugin

/// Checks who can write to files that are loaded as code.
///
/// Anyone who can write to such a file, or to a folder above it, could run code with this program's
/// rights.
package enum PluginTrust {
  /// Checks a library and each folder above it.
  package static func check(library path: BytePath) throws(PluginFailure) {
    try translating { () throws(FileError) in try TrustedPath.findFile(path, as: "The plugin") }
  }

  /// Why a library must not be loaded, or `nil`.
  static func refusal(library path: BytePath) -> PluginFailure? {
    do throws(PluginFailure) {
      try check(library: path)
      return nil
    } catch {
      return error
    }
  }

  /// Checks a program and each folder above it.
  package static func check(program path: BytePath) throws(PluginFailure) {
    try translating { () throws(FileError) in try TrustedPath.findFile(path, as: "The program") }
  }

  /// Checks a folder of plugins and each folder above it.
  package static func check(folder path: BytePath) throws(PluginFailure) {
    try translating { () throws(FileError) in
      try TrustedPath.findFolder(path, as: "The folder of plugins")
    }
  }

  private static func translating(
    _ find: () throws(FileError) -> Descriptor
  ) throws(PluginFailure) {
    do throws(FileError) {
      _ = try find()
    } catch {
      throw PluginFailure(.environment, error.message)
    }
  }
}
