import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@Suite("Paths that somebody typed", .timeLimit(.minutes(1)))
struct AbsolutePathTests {
  @Test("`..` behind a link is what the kernel finds, and all other names stay")
  func links() throws {
    let temporary = try TemporaryFolder()
    let root = try FileSystem.realPath(of: temporary.path)
    let folder = try Descriptor.openFolder(root)
    try folder.makeFolder("a")
    try Descriptor.openFolder("a", in: folder).makeFolder("b")
    #expect(symlink("a/b", root.appending("link").description) == 0)
    let expected: [BytePath: BytePath] = [
      "link/../x": "a/x", "link/x": "link/x", "link/": "a/b", "link": "link", "link/.": "a/b",
      "a/b/../x": "a/x", "./a//b/../../c": "c", "gone/../x": "x", "link/../b/..": "a",
    ]
    for (typed, found) in expected {
      let path = FileSystem.absolutePath(of: typed, in: root)
      #expect(path == root.appending(found), "\(typed)")
    }
    #expect(FileSystem.absolutePath(of: "/../..", in: root) == "/")
  }
}
