import Catalog
import Configuration
import Fixtures
import Foundation
import PipelineModel
import Testing

@Suite("Open files", .timeLimit(.minutes(2)))
struct OpenFilesTests {
  /// How a file comes to its place in the library.
  enum Way: CaseIterable, Sendable { case renamed, copied, copiedThenRemoved }

  /// What this process has open below a folder; other tests have other folders.
  private func openFiles(below folder: BytePath) throws -> [String] {
    let manager = FileManager.default
    return try manager.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { number in
      // The one that was read from is gone by now.
      try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
    }.filter { $0.hasPrefix(folder.description) }
  }

  @Test(
    "No file that was taken stays open, in small groups and large ones", arguments: Way.allCases)
  func afterTaking(way: Way) throws {
    let scene = try Scene(way == .copied ? .copy : .move)
    if way == .copiedThenRemoved { scene.source.take = .copy }
    func take(_ names: Range<Int>) throws {
      for name in names { try scene.write("file \(name)", to: BytePath("\(name)")) }
      #expect(try scene.outcomes().values.allSatisfy { $0 == .imported })
      #expect(try scene.assets().count == names.upperBound)
    }
    try take(0..<1)
    // Of a library at rest: journal, catalog, folders.
    let atRest = try openFiles(below: scene.temporary.path)
    try take(1..<4)
    try take(4..<44)
    #expect(try openFiles(below: scene.temporary.path).sorted() == atRest.sorted())
  }
}
