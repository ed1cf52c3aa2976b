import Catalog
import Files
import PipelineModel
import Synchronization
import Testing

@testable import Ingest

@Suite("Files of renditions without a record", .timeLimit(.minutes(1)))
struct RenditionFilesTests {
  /// A library with a file that a kill left, and that a job is due to make again.
  private func makeLibrary() throws -> (library: RenderedLibrary, left: BytePath, new: BytePath) {
    let library = try RenderedLibrary()
    try library.configure(["thumbnails": 1])
    let left = try #require(try library.complete("thumbnails").first)
    try library.configure(["thumbnails": 2])
    let new = try #require(try library.complete("thumbnails", letGo: [left]).first)
    try library.configure(["thumbnails": 1])
    return (library, left, new)
  }

  @Test("One that is recorded or removed after its folder was read is passed over")
  func changedMeanwhile() throws {
    let (library, left, new) = try makeLibrary()
    let folder = try library.folder(left.parent)
    // Before and after all names of renditions.
    for name in ["0", "z"] { try folder.writeDurably([1], as: BytePath(name)) }
    let reader = try CatalogReader.open(at: library.layout.catalog, immutable: false)
    let files = RenditionFiles(
      tree: RenditionFolderTree(folder: try library.folder("")), catalog: reader)
    var found: [BytePath] = []
    try files.forEachUnnamed { result in
      found.append(try result.get())
      guard found.count == 1 else { return }
      #expect(try library.complete("thumbnails", letGo: [new]) == [left])
      try folder.remove("z")
    }
    #expect(found == [left.parent.appending("0")])
    try reader.close()
  }

  @Test("One whose job ends in any moment of the search is not taken for garbage")
  func jobThatEnds() throws {
    var (moment, isOver) = (0, false)
    while !isOver {
      moment += 1
      let (library, left, new) = try makeLibrary()
      let (made, completions) = try library.makeFiles("thumbnails")
      #expect(made == [left])
      let reader = try CatalogReader.open(at: library.layout.catalog, immutable: false)
      let files = RenditionFiles(
        tree: RenditionFolderTree(folder: try library.folder("")), catalog: reader)
      let catalog = library.catalog
      // Counts the statements, each of which asks before it begins.
      let statements = Mutex(0)
      let unnamed = try reader.interruptible(when: { [moment] in
        let number = statements.withLock { count in
          count += 1
          return count
        }
        if number == moment {
          #expect((try? catalog.complete(completions)) == [new.description])
        }
        return false
      }) { try files.unnamed() }
      #expect(!unnamed.contains(left), "\(moment)")
      isOver = statements.withLock { $0 } < moment
      try reader.close()
    }
    #expect(moment > 5)
  }
}
