import Files
package import PipelineModel
package import PipelinePlugin

/// Whose files may be loaded as code.
///
/// Who can write a file, or a folder on the way to it, could run code with the rights of this
/// program.
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
