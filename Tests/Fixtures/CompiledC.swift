import Foundation
package import PipelineModel
import Synchronization

/// A file of `Tests/C`, compiled once for all tests of this process that want the same of it.
package struct CompiledC: Sendable {
  /// The bytes of the library or program.
  package let bytes: [UInt8]

  private static let made = Mutex<[[String]: CompiledC]>([:])

  /// Compiles a library, to be preloaded or to be loaded as a plugin.
  ///
  /// - Parameters:
  ///   - macros: what is defined, in C.
  ///   - options: further options of the compiler.
  package static func library(
    _ name: String, defining macros: [String: String] = [:], options: [String] = []
  ) throws -> CompiledC {
    try make(
      name,
      [
        "-shared", "-fPIC", "-I",
        Checkout.root.appending(path: "Sources/PluginKit/CPipelinePlugin/include").path,
      ]
        + macros.sorted { $0.key < $1.key }.map { "-D\($0)=\($1)" } + options)
  }

  /// Compiles a program.
  package static func program(_ name: String) throws -> CompiledC { try make(name, []) }

  /// Writes it as an executable file; whatever the user's mask is, no group may write it.
  package func write(to path: BytePath) throws {
    let file = path.description
    try Data(bytes).write(to: URL(filePath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file)
  }

  private static func make(_ name: String, _ options: [String]) throws -> CompiledC {
    let key = [name] + options
    if let known = made.withLock({ $0[key] }) { return known }
    let folder = try TemporaryFolder()
    let product = folder.appending("product").description
    let compiler = Process()
    compiler.executableURL = URL(filePath: "/usr/bin/cc")
    // Libraries that are linked come after what needs them.
    compiler.arguments =
      ["-O1", "-Wall", "-Werror"] + options
      + ["-o", product, Checkout.root.appending(path: "Tests/C/\(name).c").path, "-ldl"]
    try compiler.run()
    compiler.waitUntilExit()
    guard compiler.terminationStatus == 0 else {
      throw BuiltProgramError("Tests/C/\(name).c can't be compiled.")
    }
    let compiled = CompiledC(bytes: Array(try Data(contentsOf: URL(filePath: product))))
    made.withLock { $0[key] = compiled }
    return compiled
  }
}
