import Foundation
import PipelineModel

/// C that tests compile, to be preloaded into the program.
enum CompiledLibrary {
  /// Compiles a source into a folder and returns the path of the library.
  static func make(_ source: String, named name: String, in folder: BytePath) throws -> BytePath {
    let path = folder.appending(BytePath("\(name).so"))
    let file = folder.appending(BytePath("\(name).c")).description
    try Data(source.utf8).write(to: URL(fileURLWithPath: file))
    let compiler = Process()
    compiler.executableURL = URL(fileURLWithPath: "/usr/bin/cc")
    compiler.arguments = [
      "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", path.description, file, "-ldl",
    ]
    try compiler.run()
    compiler.waitUntilExit()
    guard compiler.terminationStatus == 0 else {
      throw BuiltProgramError("The preload library “\(name)” can't be compiled.")
    }
    return path
  }
}
