import Files
import Fixtures
import Foundation
import PipelineModel

/// Wall clocks that are wrong, by libfaketime. Files have the times that they have, and durations are measured as ever.
extension BuiltProgram {
  /// The program with a clock that is wrong by some time, such as `+10m`.
  func withClock(_ offset: String) throws -> BuiltProgram {
    try withClock(["FAKETIME": offset])
  }

  /// The program with a clock that is wrong by what a file says at that moment.
  func withClock(in file: BytePath) throws -> BuiltProgram {
    try withClock(["FAKETIME_TIMESTAMP_FILE": file.description, "FAKETIME_NO_CACHE": "1"])
  }

  /// The program with a clock that shows so many seconds too many as a file says, and whose waits until a moment of that
  /// clock end when it shows the moment: as if the machine's clock had been set.
  func withSetClock(in file: BytePath) throws -> BuiltProgram {
    let library = folder.appending("clock.so")
    try CompiledC.library("clock").write(to: library)
    var program = self
    program.environment["LD_PRELOAD"] = library.description
    program.environment["PIPELINE_CLOCK"] = file.description
    return program
  }

  private func withClock(_ variables: [String: String]) throws -> BuiltProgram {
    // Not by the command, which would be the one that gets signals.
    let folders = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib")
    let libraries = folders.map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }
    guard let library = libraries.first(where: { FileManager.default.fileExists(atPath: $0) })
    else {
      throw FileError(.notFound, "libfaketime is not installed.", path: nil)
    }
    var program = self
    program.environment.merge(variables) { $1 }
    program.environment["LD_PRELOAD"] = library
    program.environment["NO_FAKE_STAT"] = "1"
    program.environment["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"
    return program
  }
}
