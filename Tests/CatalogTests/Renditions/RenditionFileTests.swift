import Foundation
import Glibc
import PipelineModel
import Records
import Testing

@testable import Catalog

/// The file `renditions.sqlite`: missing, damaged, or something else.
@Suite("The file of the database of renditions", .timeLimit(.minutes(5)))
struct RenditionFileTests {
  enum Loss: CaseIterable {
    case missing, empty, noDatabase, damaged
  }

  private func lose(_ loss: Loss, of library: Library) throws {
    let file = URL(filePath: library.renditionFile.description)
    switch loss {
    case .missing: try FileManager.default.removeItem(at: file)
    case .empty: try Data().write(to: file)
    case .noDatabase: try Data(repeating: 65, count: 5_000).write(to: file)
    case .damaged:
      var bytes = try Data(contentsOf: file)
      for index in 100..<bytes.count { bytes[index] = 0xAB }
      try bytes.write(to: file)
    }
  }

  private func old(_ library: Library) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: library.folder.path)
      .filter { $0.hasSuffix(".old") }
  }

  @Test(
    "If it is lost, its bytes are missing, and all of them are made again", arguments: Loss.allCases
  )
  func lost(_ loss: Loss) throws {
    let library = try Library.rendered(3)
    try library.close()
    try lose(loss, of: library)
    try library.reopen()
    try library.catalog.configure(Samples.stages())
    for rendition in try library.renditions() {
      #expect(try library.read { try $0.renditionBytes(rendition.id) } == nil)
    }
    #expect(try library.read { try $0.unnamedBytes(after: nil, limit: 9) } == nil)
    var count = 0
    while true {
      let page = try library.catalog.remakeLostRenditions()
      count += page.count
      if !page.hasMore { break }
    }
    #expect(count == 3)
    #expect(try library.count("SELECT count(*) FROM setting WHERE key = 'renditions.lost'") == 0)
    #expect(try old(library).count == (loss == .noDatabase || loss == .damaged ? 1 : 0))
    try library.render(["grid"])
    #expect(try library.keptKeys() == library.namedKeys() && library.keptKeys().count == 3)
    #expect(try library.catalog.remakeLostRenditions() == (0, false))
  }

  @Test("That it was lost is not forgotten if the program ends before all is made again")
  func interrupted() throws {
    let library = try Library.rendered(3)
    try library.close()
    try lose(.missing, of: library)
    try library.reopen()
    try library.catalog.configure(Samples.stages())
    try library.add([Samples.asset(4)])
    for job in try library.catalog.claim(stage: "identify", limit: 9, suspects: false) {
      _ = try library.catalog.complete([
        Completion(
          token: job.token, outcome: .done(facts: [:], renditions: [Samples.rendition("r")]),
          seconds: 1)
      ])
    }
    // The new file is there, with other bytes.
    #expect(try library.keptKeys().count == 1)
    try library.reopen()
    #expect(try library.catalog.remakeLostRenditions() == (3, true))
    #expect(try library.keptKeys() == library.namedKeys())
  }

  @Test("A damaged page is found by what writes, which goes on with a new file")
  func damagedMeanwhile() throws {
    let library = try Library.rendered(3)
    // A reader that has it open sees the new one, too.
    let reader = try CatalogReader.open(at: library.place, immutable: false)
    let first = try #require(try library.renditions().first)
    #expect(try reader.renditionBytes(first.id) != nil)
    // The pages are read from the file, not from its log.
    try library.catalog.access.sync { (writer) throws(CatalogError) in
      _ = try writer.renditions?.read { (connection) throws(CatalogError) in
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      }
    }
    try library.reopen()
    try library.catalog.configure(Samples.stages())
    let handle = try FileHandle(forWritingTo: URL(filePath: library.renditionFile.description))
    try handle.seek(toOffset: 4096)
    try handle.write(contentsOf: Data(repeating: 0xAB, count: 8192))
    try handle.close()
    try library.add([Samples.asset(4)])
    try library.render(["r"], stage: "identify")
    #expect(try old(library).contains { $0.hasPrefix("renditions-") })
    let new = try #require(try library.renditions().last)
    #expect(try reader.renditionBytes(new.id)?.count == new.bytes)
    #expect(try reader.renditionBytes(first.id) == nil)
    // The same process makes the others again.
    #expect(try library.catalog.mayHaveLostRenditions())
    #expect(try library.catalog.damagedRenditions() != nil)
    #expect(try library.catalog.remakeLostRenditions() == (3, true))
    #expect(try !library.catalog.mayHaveLostRenditions())
    try reader.close()
  }

  @Test("A file that goes while it is open is made again")
  func removedMeanwhile() throws {
    let library = try Library.rendered(2)
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: library.renditionFile.description + suffix)
    }
    try library.catalog.configure(Samples.stages())
    try library.add([Samples.asset(4)])
    try library.render(["r"], stage: "identify")
    #expect(try library.keptKeys().map(\.name) == ["r"])
    #expect(try library.count("SELECT count(*) FROM setting WHERE key = 'renditions.lost'") == 1)
  }

  @Test(
    "Something else in its place is refused and not touched",
    arguments: ["database", "newer", "link", "pipe"])
  func foreign(what: String) throws {
    let library = try Library.rendered(2)
    try library.close()
    let file = URL(filePath: library.renditionFile.description)
    let real = library.folder.appending(path: "elsewhere.sqlite")
    switch what {
    case "link":
      try FileManager.default.moveItem(at: file, to: real)
      try FileManager.default.createSymbolicLink(at: file, withDestinationURL: real)
    case "newer":
      let connection = try Connection(library.renditionFile, mode: .write)
      try connection.executeScript("PRAGMA user_version = 99")
      connection.close()
    case "pipe":
      try FileManager.default.removeItem(at: file)
      try #require(mkfifo(file.path, 0o600) == 0)
    default:
      try FileManager.default.removeItem(at: file)
      let connection = try Connection(library.renditionFile, mode: .create)
      try connection.executeScript("CREATE TABLE mine (a)")
      connection.close()
    }
    // Reading a pipe would wait.
    let before = what == "pipe" ? nil : try Data(contentsOf: file)
    try library.reopen()
    try library.catalog.configure(Samples.stages())
    let code: CatalogError.Code = what == "newer" ? .newerVersion : .foreign
    let reading = #expect(throws: CatalogError.self) {
      try library.read { try $0.renditionBytes(1) }
    }
    #expect(reading?.code == code && reading?.message.contains("renditions.sqlite") == true)
    let looking = #expect(throws: CatalogError.self) {
      try library.catalog.remakeLostRenditions()
    }
    #expect(looking?.code == code)
    try library.add([Samples.asset(4)])
    let writing = #expect(throws: CatalogError.self) {
      try library.render(["r"], stage: "identify")
    }
    #expect(writing?.code == code)
    // Nothing of the group is recorded, and the catalog works.
    #expect(try library.namedKeys().count == 2)
    try library.catalog.apply([.purged(Samples.id(1))], manifestPosition: 9)
    if let before { #expect(try Data(contentsOf: file) == before) }
    #expect(try old(library) == [])
    #expect(try library.integrity() == "ok")
  }

  @Test("In a folder that can't be written it is read, with and without its log")
  func readOnlyFolder() async throws {
    let library = try Library.rendered(2)
    let copy = library.folder.appending(path: "copy")
    let manager = FileManager.default
    try manager.createDirectory(at: copy, withIntermediateDirectories: true)
    func makeCopy(_ suffixes: [String]) throws {
      for name in ["catalog.sqlite", "renditions.sqlite"] {
        for suffix in suffixes {
          try manager.copyItem(
            at: library.folder.appending(path: name + suffix),
            to: copy.appending(path: name + suffix))
        }
      }
      try manager.setAttributes([.posixPermissions: 0o555], ofItemAtPath: copy.path)
    }
    let file = copy.appending(path: "catalog.sqlite").path
    for suffixes in [["", "-wal", "-shm"], [""]] {
      if suffixes.count == 1 { try library.close() }
      try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: copy.path)
      for name in try manager.contentsOfDirectory(atPath: copy.path) {
        try manager.removeItem(at: copy.appending(path: name))
      }
      try makeCopy(suffixes)
      await #expect(processExitsWith: .success) { [file = file as String] in
        // The superuser may write anywhere.
        if geteuid() == 0 { try #require(setuid(65_534) == 0) }
        let reader = try CatalogReader.open(at: BytePath(file), immutable: true)
        let renditions = try reader.renditions(after: 0, limit: 9)
        try #require(renditions.count == 2)
        for rendition in renditions {
          try #require(try reader.renditionBytes(rendition.id)?.count == rendition.bytes)
        }
        try reader.close()
      }
    }
    let left = Set(try manager.contentsOfDirectory(atPath: copy.path))
    #expect(left == ["catalog.sqlite", "renditions.sqlite"])
    try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: copy.path)
  }
}
