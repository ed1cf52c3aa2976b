import PipelineModel
import Query
import Records
import Testing

@testable import Catalog

/// Live Photos whose parts have different names.
@Suite("Live Photos with other names", .onEachDatabase, .timeLimit(.minutes(5)))
struct LivePhotoTests {
  private static let identifier = "0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9"

  private static func file(
    _ number: Int, _ name: String, _ type: String, camera: String? = nil,
    identifier: String? = identifier
  ) -> SampleFile {
    var file = SampleFile(
      number: number, name: name, type: type, taken: "2024-05-01T12:00:00", camera: camera)
    if let identifier { file.metadata["contentIdentifier"] = .string(identifier) }
    return file
  }

  private static func picture(
    _ number: Int, _ name: String, camera: String? = nil, identifier: String? = identifier
  ) -> SampleFile {
    file(number, name, "image/heic", camera: camera, identifier: identifier)
  }

  private static func film(
    _ number: Int, _ name: String, camera: String? = nil, identifier: String? = identifier
  ) -> SampleFile {
    file(number, name, "video/quicktime", camera: camera, identifier: identifier)
  }

  private static func sidecar(_ number: Int, _ name: String) -> SampleFile {
    var file = file(number, name, "application/rdf+xml", identifier: nil)
    file.metadata["xmp"] = ["xmp:Rating": .integer(number)]
    return file
  }

  /// The members as `1 raw of 2 by rawAndJPEG`, in the order of keys.
  private func members(_ library: Library) throws -> [String] {
    let problems = try library.integrity()
    #expect(problems == "ok")
    return try library.catalog.read { (connection) throws(CatalogError) in
      try connection.all("SELECT asset, leader, role, kinds FROM member ORDER BY asset") {
        (row) throws(CatalogError) in
        let number = { (id: AssetID) in (1...99).first { Samples.id($0) == id } ?? 0 }
        return "\(number(try row.assetID(0))) \(row.text(2)) of \(number(try row.assetID(1)))"
          + " by \(row.text(3))"
      }
    }
  }

  private func apply(_ changes: [CatalogChange], _ library: Library) throws {
    try library.catalog.apply(changes, manifestPosition: 0)
  }

  private static let both = ["1 primary of 1 by livePhoto", "2 movie of 1 by livePhoto"]

  @Test("A picture and a film with one identifier are joined, whatever their names and folders")
  func names() throws {
    for reversed in [false, true] {
      let library = try Library.ofFiles()
      var film = Self.film(2, "VID_7.MOV")
      film.folder = "films/"
      let files = [Self.picture(1, "IMG_1.HEIC"), film]
      for file in reversed ? files.reversed() : files { try library.take([file]) }
      #expect(try members(library) == Self.both)
      // The film alone in the trash, and the picture.
      try apply([.trashed(Samples.id(2), at: .now)], library)
      #expect(try members(library) == [])
      try apply([.restored(Samples.id(2)), .trashed(Samples.id(1), at: .now)], library)
      #expect(try members(library) == [])
      try apply([.restored(Samples.id(1))], library)
      #expect(try members(library) == Self.both)
      try apply([.purged(Samples.id(reversed ? 1 : 2), sequence: 1)], library)
      #expect(try members(library) == [])
    }
  }

  @Test("Another picture, another film, another source and another camera are never joined")
  func ambiguous() throws {
    var elsewhere = Self.film(2, "b.mov")
    elsewhere.source = "/elsewhere"
    for others in [
      [Self.film(2, "b.mov"), Self.picture(3, "c.heic")],
      [Self.film(2, "b.mov"), Self.film(3, "c.mov")],
      [elsewhere], [Self.film(2, "b.mov", identifier: "other")],
      [Self.film(2, "b.mov", camera: "X")],
    ] {
      let library = try Library.ofFiles()
      try library.take([Self.picture(1, "a.heic", camera: "iPhone 12")] + others)
      #expect(try members(library) == [], "\(others.map(\.name))")
    }
    // With one of them gone it is clear, and with a third it is not any more.
    let library = try Library.ofFiles()
    try library.take([
      Self.picture(1, "a.heic"), Self.film(2, "b.mov"), Self.picture(3, "c.heic"),
    ])
    try apply([.purged(Samples.id(3), sequence: 1)], library)
    #expect(try members(library) == Self.both)
    try library.take([Self.film(4, "d.mov")])
    #expect(try members(library) == [])
  }

  @Test("Whole groups are joined: raw and JPEG, and the sidecars of both parts")
  func groups() throws {
    let library = try Library.ofFiles()
    let files = [
      Self.picture(1, "a.heic"), Self.film(2, "b.mov"),
      Self.file(3, "a.dng", "image/x-adobe-dng", identifier: nil), Self.sidecar(4, "a.xmp"),
      Self.sidecar(5, "b.xmp"),
    ]
    for file in files.shuffled() { try library.take([file]) }
    let kinds = "rawAndJPEG, livePhoto, sidecar"
    let all = [
      "1 primary of 1 by \(kinds)", "2 movie of 1 by \(kinds)", "3 raw of 1 by \(kinds)",
      "4 sidecar of 1 by \(kinds)", "5 sidecar of 1 by \(kinds)",
    ]
    #expect(try members(library) == all)
    // Each sidecar speaks of its own part.
    let ratings = try library.read { reader in
      try (1...3).map { try reader.assetValues(Samples.id($0))?.numbers[.rating] }
    }
    #expect(ratings == [4, 5, 4])
    try apply([.trashed(Samples.id(1), at: .now)], library)
    #expect(
      try members(library) == [
        "2 primary of 2 by sidecar", "3 primary of 3 by sidecar", "4 sidecar of 3 by sidecar",
        "5 sidecar of 2 by sidecar",
      ])
    try apply([.restored(Samples.id(1))], library)
    #expect(try members(library) == all)
    for gone in [1, 2] {
      try apply([.purged(Samples.id(gone), sequence: 1)], library)
    }
    #expect(
      try members(library) == [
        "3 primary of 3 by sidecar", "4 sidecar of 3 by sidecar", "5 orphan of 5 by ",
      ])
  }

  @Test("A picture that has a film by its name gets no other, and one stem is left to the names")
  func namesFirst() throws {
    let library = try Library.ofFiles()
    try library.take([
      Self.picture(1, "a.heic"), Self.film(2, "a.mov", identifier: nil), Self.film(3, "b.mov"),
    ])
    #expect(try members(library) == Self.both)
    // The raw file contradicts the film's camera, so the names join nothing.
    let other = try Library.ofFiles()
    try other.take([
      Self.picture(1, "a.heic"), Self.film(2, "a.mov", camera: "X"),
      Self.file(3, "a.dng", "image/x-adobe-dng", camera: "Y", identifier: nil),
    ])
    #expect(try members(other).contains { $0.hasPrefix("2") } == false)
  }

  @Test("More files with one identifier than are looked at are not joined")
  func tooMany() throws {
    let library = try Library.ofFiles()
    let crowd = (3...102).map { Self.picture($0, "\($0).heic") }
    try library.take([Self.picture(1, "a.heic"), Self.film(2, "b.mov")])
    #expect(try members(library) == Self.both)
    try library.take(crowd)
    try apply(crowd.map { .trashed($0.asset.id, at: .now) }, library)
    #expect(try members(library) == [])
    try apply(crowd.map { .purged($0.asset.id, sequence: 1) }, library)
    #expect(try members(library) == Self.both)
  }

  @Test("Another policy parts them, and another identifier")
  func changes() throws {
    let library = try Library.ofFiles()
    let files = [Self.picture(1, "a.heic"), Self.film(2, "b.mov")]
    try library.take(files)
    try library.catalog.configureGroups(GroupPolicy([GroupRule(kind: .sidecar)]))
    try library.catalog.configure(SampleFile.stages)
    #expect(try members(library) == [])
    try library.catalog.configureGroups(.standard)
    try library.catalog.configure([
      SampleFile.stages[0], Samples.stage("metadata", fingerprint: 3, needs: ["identify"]),
    ])
    #expect(try members(library) == Self.both)
    try library.run("metadata", [files[0], Self.film(2, "b.mov", identifier: "other")])
    #expect(try members(library) == [])
  }
}
