import PipelineModel
import Testing

@testable import Catalog

@Suite("Name stems", .timeLimit(.minutes(1)))
struct NameStemTests {
  @Test(
    "Known extensions are left out, whatever stands before the last one",
    arguments: [
      ("d/a.CR3", "d/a"), ("a.jpg.xmp", "a"), ("a.jpg.raf", "a"), ("a.JPG.XMP", "a"),
      ("1.2.jpg", "1.2"), ("a.txt", "a.txt"), ("a.txt.xmp", "a.txt"), (".jpg", ".jpg"),
      ("d/.jpg", "d/.jpg"), ("d.jpg/a", "d.jpg/a"), ("a", "a"), ("a.", "a."), ("", ""),
    ])
  func stems(path: String, stem: String) {
    #expect(NameStem(of: BytePath(path)).path == Array(stem.utf8))
  }
}
