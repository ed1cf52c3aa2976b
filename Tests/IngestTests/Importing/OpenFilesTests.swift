import Catalog
import Configuration
import Fixtures
import Foundation
import PipelineModel
import Records
import Testing

@Suite("Descriptors after imports", .timeLimit(.minutes(2)))
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
    let fixture = try IngestFixture(way == .copied ? .copy : .move)
    if way == .copiedThenRemoved { fixture.source.take = .copy }
    func importFiles(_ names: Range<Int>) throws {
      for name in names { try fixture.write("file \(name)", to: BytePath("\(name)")) }
      #expect(try fixture.outcomes().values.allSatisfy { $0 == .imported })
      #expect(try fixture.assets().count == names.upperBound)
    }
    try importFiles(0..<1)
    // Of a library at rest: journal, catalog, folders.
    let atRest = try openFiles(below: fixture.temporary.path)
    try importFiles(1..<4)
    try importFiles(4..<44)
    #expect(try openFiles(below: fixture.temporary.path).sorted() == atRest.sorted())
  }
}
