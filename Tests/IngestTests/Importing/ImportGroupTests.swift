import Manifest
import PipelineModel
import Testing

@testable import Ingest

@Suite("A group of files that are imported together")
struct ImportGroupTests {
  @Test("What is appended to a group is appended in place, whatever it has already")
  func inPlace() {
    let group = ImportGroup()
    func place() -> UnsafeRawPointer? {
      group.progress.facts.withUnsafeBytes { $0.baseAddress }
    }
    group.progress.facts.reserveCapacity(100)
    let before = place()
    for _ in 0..<100 {
      group.facts.append(.restored(asset: AssetID(bytes: [UInt8](repeating: 1, count: 16))!))
      // Of two copies in turn, every other one would be in the first one's place again.
      #expect(place() == before)
    }
    #expect(group.facts.count == 100 && before != nil)
  }
}
