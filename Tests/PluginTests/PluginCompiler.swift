import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Plugins in C, compiled in a folder of their own.
final class PluginCompiler {
  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(
      path: "pipeline-cc-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Compiles `Tests/C/sample.c` and returns the library's path.
  ///
  /// - Parameter macros: the parts to be replaced; texts are written as in C.
  func compile(_ macros: [String: String] = [:]) throws -> BytePath {
    let library = BytePath(folder.appending(path: "libpipeline-sample.so").path)
    try CompiledC.library("sample", defining: macros).write(to: library)
    return library
  }

  /// How many strings the compiled and loaded plugin was given back.
  func releases() throws -> Int32 {
    let handle = try #require(
      dlopen(folder.appending(path: "libpipeline-sample.so").path, RTLD_NOW | RTLD_NOLOAD))
    defer { dlclose(handle) }
    let symbol = try #require(dlsym(handle, "releases"))
    return symbol.load(as: Int32.self)
  }
}
