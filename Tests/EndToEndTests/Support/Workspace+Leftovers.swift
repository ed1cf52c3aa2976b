import Foundation
import Glibc
import PipelineModel
import Testing

extension Workspace {
  /// Expects that no process works in this workspace any more, and no core file was written.
  func expectNobodyLeft(at location: SourceLocation = #_sourceLocation) throws {
    for (process, folder) in try workers() {
      Issue.record("process \(process) works in \(folder)", sourceLocation: location)
    }
    for place in ["", "inbox", "library", "plugins"] {
      let names = try files(below: root.appending(BytePath(place)))
      #expect(
        !names.contains { $0.lastComponent.description.hasPrefix("core") },
        sourceLocation: location)
    }
  }

  /// The processes whose working folder is in this workspace, with that folder.
  func workers() throws -> [(Int32, String)] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { name in
      guard let number = Int32(name), number != getpid() else { return nil }
      // A process that ended meanwhile has no folder, and one of somebody else's is not ours.
      let folder =
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(number)/cwd")) ?? ""
      return folder.hasPrefix(root.description) ? (number, folder) : nil
    }
  }
}
