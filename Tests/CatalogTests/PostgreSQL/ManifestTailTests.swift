import Fixtures
import PipelineModel
import Records
import Synchronization
import Testing

@testable import Catalog

/// The end of the manifest in the database.
@Suite(
  "The end of the manifest in the database",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(5))
)
struct ManifestTailTests: ParticipantSuite {
  /// A manifest with lines of one letter.
  private final class Journal: Sendable {
    private let letters: Mutex<[UInt8]>

    init(_ text: String = "") { letters = Mutex(Array(text.utf8)) }

    func append(_ text: String) { letters.withLock { $0 += Array(text.utf8) } }

    /// At most two at a time.
    func lines(after fact: Int64) -> ManifestLines? {
      let rest = letters.withLock { $0.dropFirst(Int(fact)).prefix(2) }
      guard !rest.isEmpty else { return nil }
      return ManifestLines(first: fact + 1, last: fact + Int64(rest.count), bytes: Array(rest))
    }
  }

  private func follow(_ journal: Journal, _ catalog: Catalog, after fact: Int64 = 0) throws {
    try catalog.followManifest(after: fact) { fact throws(CatalogError) in
      journal.lines(after: fact)
    }
    try catalog.apply([], manifestPosition: 0)
  }

  /// What a machine reads that takes another one's place.
  private func kept(_ place: CatalogPlace, after fact: Int64 = 0) throws -> String? {
    guard case .database(let address) = place else { return nil }
    guard let reader = try ManifestTailReader(address, libraryID: Library.id) else { return nil }
    var bytes: [UInt8] = []
    var last = fact
    while let lines = try reader.next(after: last) {
      bytes += lines.bytes
      last = lines.last
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test("Lines are there with the changes that they are about, and not before")
  func together() throws {
    let library = try makeLibrary(assets: 1...1)
    let journal = Journal("abc")
    try follow(journal, library.catalog)
    #expect(try kept(library.place) == "abc" && library.catalog.manifestTail == 1...3)
    journal.append("de")
    #expect(try kept(library.place) == "abc")
    try library.catalog.apply([.asset(Samples.asset(5))], manifestPosition: 4)
    #expect(try kept(library.place) == "abcde")
    // A transaction that is undone keeps nothing, and the next one keeps what it lacked.
    journal.append("f")
    try execute(
      "ALTER TABLE pipeline.setting ADD CONSTRAINT low CHECK (key <> 'manifest.position' OR value < '5')",
      library)
    #expect(throws: CatalogError.self) {
      try library.catalog.apply([.asset(Samples.asset(6))], manifestPosition: 5)
    }
    #expect(try kept(library.place) == "abcde")
    try execute("ALTER TABLE pipeline.setting DROP CONSTRAINT low", library)
    journal.append("g")
    try library.catalog.apply([.asset(Samples.asset(6))], manifestPosition: 5)
    #expect(try kept(library.place) == "abcdefg")
    #expect(try kept(library.place, after: 5) == "fg")
    try library.close()
  }

  @Test("What is copied is forgotten, and the next process goes on behind the last line")
  func forgotten() throws {
    let library = try makeLibrary(assets: 1...1)
    let journal = Journal("abcde")
    try follow(journal, library.catalog)
    try library.catalog.forgetManifestTail(upTo: 3)
    // The line of fact 3 is with that of fact 4.
    #expect(try kept(library.place) == "cde")
    try library.close()
    try library.reopen()
    #expect(try library.catalog.manifestTail == 3...5)
    journal.append("f")
    // As if the answer of the commit had been lost that kept the last line.
    try follow(journal, library.catalog, after: 4)
    #expect(try kept(library.place) == "cdef")
    try library.catalog.forgetManifestTail(upTo: nil)
    #expect(try kept(library.place) == "" && library.catalog.manifestTail == nil)
    try library.close()
  }

  @Test(
    "A commit whose answer is lost keeps each line once",
    arguments: [DatabaseProxy.Cut.afterCommit, .beforeCommit])
  func lostAnswer(cut: DatabaseProxy.Cut) throws {
    let database = try PostgreSQLServer.shared.makeDatabase()
    let proxy = try DatabaseProxy(to: database)
    let catalog = try Catalog.create(at: .database(proxy.address), libraryID: Library.id)
    let journal = Journal()
    try follow(journal, catalog)
    var all = ""
    for (number, text) in ["abc", "d", "efg"].enumerated() {
      journal.append(text)
      all += text
      proxy.cut(cut)
      try catalog.apply([.asset(Samples.asset(number))], manifestPosition: Int64(all.count))
      #expect(proxy.cutCount == number + 1)
      #expect(try kept(.database(database)) == all)
    }
    try catalog.close()
  }

  @Test(
    "A catalog of version 4 gets the table; until then, and without a catalog, there are no lines")
  func former() throws {
    let library = try makeLibrary(assets: 1...1)
    try follow(Journal("ab"), library.catalog)
    try library.close()
    try execute(FormerSchema.version4, library)
    #expect(try kept(library.place) == nil)
    try library.reopen()
    #expect(try kept(library.place) == "" && library.catalog.manifestTail == nil)
    try follow(Journal("ab"), library.catalog)
    #expect(try kept(library.place) == "ab")
    // One that is made anew has none.
    try library.close()
    try Catalog.create(at: library.place, libraryID: Library.id, isDraft: true).finishDraft()
    #expect(try kept(library.place) == "")
    guard case .database(let address) = library.place else { return }
    #expect(throws: CatalogError.self) { _ = try ManifestTailReader(address, libraryID: "other") }
    let empty = try PostgreSQLServer.shared.makeDatabase()
    #expect(try kept(.database(empty)) == nil)
  }
}
