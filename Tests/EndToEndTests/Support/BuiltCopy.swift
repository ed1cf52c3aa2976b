import Fixtures
import Foundation
import PipelineModel

/// A copy of the built program and its plugins in a folder of its own, without some decoders.
struct BuiltCopy {
  private let folder: TemporaryFolder
  /// The copy, started in an empty folder beside it.
  let program: BuiltProgram

  /// - Parameter absent: names of decoders that are not copied.
  init(without absent: Set<String>) throws {
    folder = try TemporaryFolder()
    let manager = FileManager.default
    let work = folder.appending("work")
    try manager.createDirectory(atPath: "\(work)", withIntermediateDirectories: false)
    for name in try Self.files() where !absent.contains(Self.decoder(of: name) ?? "") {
      try manager.copyItem(
        atPath: "\(Self.built)/\(name)", toPath: "\(folder.appending(BytePath(name)))")
    }
    var program = BuiltProgram(in: work)
    program.program = folder.appending("pipeline")
    self.program = program
  }

  /// Copies a decoder that was left out.
  func add(decoder: String) throws {
    let name = "libpicture-decoder-\(decoder).so"
    try FileManager.default.copyItem(
      atPath: "\(Self.built)/\(name)", toPath: "\(folder.appending(BytePath(name)))")
  }

  /// Puts a script in the place of the program that `serve` starts.
  func add(server script: String) throws {
    let path = folder.appending("pipeline-web").description
    try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
  }

  /// The names of the decoders that were built.
  static let decoders: Set<String> = Set((try? files().compactMap(decoder)) ?? [])

  private static let built = BuiltProgram.path.parent

  private static func files() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(built)").filter { name in
      name == "pipeline" || name.wholeMatch(of: /libpipeline-[a-z0-9-]+\.so/) != nil
        || decoder(of: name) != nil
    }
  }

  private static func decoder(of file: String) -> String? {
    file.wholeMatch(of: /libpicture-decoder-([a-z]+)\.so/).map { String($0.output.1) }
  }
}
