import Fixtures
import PipelineModel
import Query
import Records
import Testing

@testable import Catalog

/// Groups in a catalog, whose files come, change and go in any order.
@Suite("Groups in the catalog", .onEachDatabase, .timeLimit(.minutes(10)))
struct GroupTests {
  private static let stages = SampleFile.stages
  private typealias File = SampleFile

  private static func jpeg(_ number: Int, _ name: String, taken: String? = nil) -> File {
    File(number: number, name: name, type: "image/jpeg", taken: taken)
  }

  private static func raw(_ number: Int, _ name: String, taken: String? = nil) -> File {
    File(number: number, name: name, type: "image/x-canon-cr3", taken: taken)
  }

  private static func sidecar(_ number: Int, _ name: String, _ xmp: JSONValue = [:]) -> File {
    File(number: number, name: name, type: "application/rdf+xml", metadata: ["xmp": xmp])
  }

  private func makeLibrary() throws -> Library { try .ofFiles() }

  private func take(
    _ files: [File], stages: [String] = ["identify", "metadata"], _ library: Library
  ) throws { try library.take(files, stages: stages) }

  private func run(
    _ stage: String, _ files: [File], among limit: Int = 10_000, _ library: Library
  ) throws { try library.run(stage, files, among: limit) }

  /// The members as `1 raw of 2`, in the order of keys.
  private func members(_ library: Library) throws -> [String] {
    try library.catalog.read { (connection) throws(CatalogError) in
      try connection.all("SELECT asset, leader, role, sidecar FROM member ORDER BY asset") {
        (row) throws(CatalogError) in
        let number = { (id: AssetID?) in (1...99).first { Samples.id($0) == id } ?? 0 }
        let sidecar = try row.optionalAssetID(3).map { " with \(number($0))" } ?? ""
        return "\(number(try row.assetID(0))) \(row.text(2)) of \(number(try row.assetID(1)))"
          + sidecar
      }
    }
  }

  private func values(_ number: Int, _ library: Library) throws -> AssetValues {
    try library.read { try #require(try $0.assetValues(Samples.id(number))) }
  }

  private func found(_ query: String, _ library: Library) throws -> [AssetID] {
    try library.read { reader in
      try #require(try reader.find(AssetQuestion(try Filter(query: query, now: .now))))
    }
  }

  // MARK: - Raw and JPEG

  @Test("Files are joined once all is known of them, and no earlier")
  func settled() throws {
    let library = try makeLibrary()
    let files = [Self.raw(1, "a.cr3"), Self.jpeg(2, "a.jpg")]
    try take(files, stages: ["identify"], library)
    #expect(try members(library) == [])
    try run("metadata", files, library)
    #expect(try members(library) == ["1 raw of 2", "2 primary of 2"])
    #expect(try found("is:grouped", library) == [Samples.id(1), Samples.id(2)])
    #expect(try found("is:primary", library) == [Samples.id(2)])
    #expect(try found("role:raw group:rawandjpeg -group:sidecar", library) == [Samples.id(1)])
    #expect(try library.integrity() == "ok")
  }

  @Test("Other folders and other sources have their own groups")
  func places() throws {
    let library = try makeLibrary()
    var (raw, jpeg) = (Self.raw(1, "a.cr3"), Self.jpeg(2, "a.jpg"))
    raw.folder = "e/"
    jpeg.folder = "d/"
    try take([raw, jpeg, Self.jpeg(3, "a.b.jpg"), Self.jpeg(4, "a0.jpg")], library)
    #expect(try members(library) == [])
    var top = Self.raw(5, "a0.cr3")
    top.folder = ""
    try take([top, Self.raw(6, "a.b.cr3")], library)
    #expect(try members(library) == ["3 primary of 3", "6 raw of 3"])
  }

  @Test("The trash parts a group, restoring joins it, deleting for good leaves the others")
  func trash() throws {
    let library = try makeLibrary()
    try take(
      [Self.raw(1, "a.cr3"), Self.jpeg(2, "a.jpg"), Self.sidecar(3, "a.xmp", ["xmp:Rating": 4])],
      library)
    let all = ["1 raw of 2 with 3", "2 primary of 2 with 3", "3 sidecar of 2"]
    #expect(try members(library) == all)
    try library.catalog.apply([.trashed(Samples.id(2), at: .now)], manifestPosition: 9)
    #expect(try members(library) == ["1 primary of 1 with 3", "3 sidecar of 1"])
    try library.catalog.apply([.restored(Samples.id(2))], manifestPosition: 10)
    #expect(try members(library) == all)
    try library.catalog.apply([.purged(Samples.id(2), sequence: 8)], manifestPosition: 11)
    #expect(try members(library) == ["1 primary of 1 with 3", "3 sidecar of 1"])
    try library.catalog.apply([.purged(Samples.id(1), sequence: 9)], manifestPosition: 12)
    #expect(try members(library) == ["3 orphan of 3"])
    #expect(try library.read { try $0.status().orphans } == 1)
    try library.catalog.apply([.purged(Samples.id(3), sequence: 9)], manifestPosition: 13)
    #expect(try library.integrity() == "ok")
  }

  @Test("A new version of a file at its path takes its place")
  func versions() throws {
    let library = try makeLibrary()
    try take([Self.raw(1, "a.cr3"), Self.jpeg(2, "a.jpg")], library)
    var newer = Self.jpeg(3, "a.jpg").asset
    newer.supersedes = Samples.id(2)
    try library.add([newer])
    // While nobody knows what it is, the old one is out, too.
    #expect(try members(library) == [])
    for stage in ["identify", "metadata"] {
      try run(stage, [Self.jpeg(3, "a.jpg")], library)
    }
    #expect(try members(library) == ["1 raw of 3", "3 primary of 3"])
    try library.catalog.apply([.trashed(Samples.id(3), at: .now)], manifestPosition: 9)
    #expect(try members(library) == ["1 raw of 2", "2 primary of 2"])
    #expect(try library.integrity() == "ok")
  }

  @Test("A file that changes otherwise, too, may change its place in its group")
  func otherChanges() throws {
    let library = try makeLibrary()
    try take([Self.raw(1, "a.cr3"), Self.jpeg(2, "a.jpg"), Self.sidecar(3, "a.xmp")], library)
    try library.catalog.apply(
      [.annotated(Samples.id(1), Annotation(.tag, "x")), .trashed(Samples.id(2), at: .now)],
      manifestPosition: 9)
    #expect(try members(library) == ["1 primary of 1 with 3", "3 sidecar of 1"])
    #expect(try library.integrity() == "ok")
  }

  // MARK: - Sidecars

  private static let xmp: JSONValue = [
    "dc:title": ["x-default": "Harvest"], "dc:description": "At noon",
    "dc:subject": ["wheat", "summer"], "xmp:Rating": 4,
    "lr:hierarchicalSubject": ["Places|Germany|Munich", "summer"],
  ]

  @Test("What a sidecar says is what its picture says, whichever comes first")
  func sidecarValues() throws {
    for isFirst in [true, false] {
      let library = try makeLibrary()
      var picture = Self.jpeg(1, "a.jpg")
      picture.metadata = ["xmp": ["dc:title": "Own", "dc:subject": ["own"], "xmp:Rating": 1]]
      let sidecar = Self.sidecar(2, "a.jpg.xmp", Self.xmp)
      try take([isFirst ? sidecar : picture], library)
      if isFirst { #expect(try members(library) == ["2 orphan of 2"]) }
      if isFirst { #expect(try found("is:orphan", library) == [Samples.id(2)]) }
      try take([isFirst ? picture : sidecar], library)
      let values = try values(1, library)
      #expect(values.texts[.title] == ["Harvest"] && values.texts[.caption] == ["At noon"])
      #expect(values.texts[.tag] == ["wheat", "summer", "Munich"] && values.numbers[.rating] == 4)
      #expect(try found("tag:munich rating:4 title:harvest is:primary", library) == [Samples.id(1)])
      #expect(try found("is:orphan", library) == [])
      #expect(try library.integrity() == "ok")
    }
  }

  @Test("What a sidecar leaves out stays as the file has it, and what users say counts most")
  func sidecarPrecedence() throws {
    let library = try makeLibrary()
    var picture = Self.jpeg(1, "a.jpg")
    picture.metadata = ["xmp": ["dc:title": "Own", "dc:subject": ["own"], "xmp:Rating": 1]]
    try take([picture, Self.sidecar(2, "a.xmp", ["xmp:Rating": 3])], library)
    try library.catalog.apply(
      [.annotated(Samples.id(1), Annotation(.rating, "5"))], manifestPosition: 9)
    let values = try values(1, library)
    #expect(values.texts[.title] == ["Own"] && values.texts[.tag] == ["own"])
    #expect(values.numbers[.rating] == 5)
    #expect(try library.integrity() == "ok")
  }

  @Test("A later sidecar replaces an older one, and without it the file speaks again")
  func laterSidecar() throws {
    let library = try makeLibrary()
    try take([Self.jpeg(1, "a.jpg"), Self.sidecar(2, "a.xmp", ["xmp:Rating": 2])], library)
    #expect(try found("rating:2 name:a.jpg", library) == [Samples.id(1)])
    let before = try library.read { try $0.revision }
    try take([Self.sidecar(3, "a.xmp", ["xmp:Rating": 3])], library)
    #expect(try found("rating:3 name:a.jpg", library) == [Samples.id(1)])
    let changed = try library.read { try $0.changes(since: before).assets.map(\.id) }
    #expect(Set(changed).isSuperset(of: [Samples.id(1), Samples.id(3)]))
    try library.catalog.apply([.trashed(Samples.id(3), at: .now)], manifestPosition: 9)
    #expect(try found("rating:2 name:a.jpg", library) == [Samples.id(1)])
    try library.catalog.apply([.trashed(Samples.id(2), at: .now)], manifestPosition: 10)
    #expect(try values(1, library).numbers[.rating] == nil)
    #expect(try library.integrity() == "ok")
  }

  @Test("A sidecar that is read anew changes its picture")
  func changedSidecar() throws {
    let library = try makeLibrary()
    let files = [Self.jpeg(1, "a.jpg"), Self.sidecar(2, "a.xmp", ["xmp:Rating": 2])]
    try take(files, library)
    try library.catalog.configure([
      Self.stages[0], Samples.stage("metadata", fingerprint: 3, needs: ["identify"]),
    ])
    #expect(try found("rating:2 name:a.jpg", library) == [Samples.id(1)])
    try run("metadata", [files[0], Self.sidecar(2, "a.xmp", ["xmp:Rating": 1])], library)
    #expect(try found("rating:1 name:a.jpg", library) == [Samples.id(1)])
    #expect(try library.integrity() == "ok")
  }

  // MARK: - Policies and older catalogs

  @Test("Another policy forms all groups anew, page by page, also after an interruption")
  func policy() throws {
    let library = try makeLibrary()
    let count = 700
    try take(
      (1...count).flatMap { number in
        [Self.raw(number, "\(number).cr3"), Self.jpeg(number + count, "\(number).jpg")]
      }, library)
    func grouped() throws -> Int { try library.count("SELECT count(*) FROM member") }
    #expect(try grouped() == 2 * count)
    try library.catalog.configureGroups(GroupPolicy([]))
    // Stopped after the first page of groups.
    var polls = 0
    try library.catalog.configure(Self.stages) {
      polls += 1
      return polls > 3
    }
    let left = try grouped()
    #expect(left > 0 && left < 2 * count)
    try library.reopen()
    try library.catalog.configure(Self.stages)
    #expect(try grouped() == 0)
    #expect(try library.integrity() == "ok")
    try library.catalog.configureGroups(.standard)
    try library.catalog.configure(Self.stages)
    #expect(try grouped() == 2 * count)
  }

  @Test("A catalog of version 9 gets its groups", .onlySQLite)
  func migration() throws {
    let library = try makeLibrary()
    try take([Self.raw(1, "a.cr3"), Self.jpeg(2, "a.jpg"), Self.sidecar(3, "b.xmp")], library)
    let before = try members(library)
    #expect(before.count == 3)
    try library.execute("ALTER TABLE sighting DROP COLUMN run")
    for table in ["frame", "sign", "member"] { try library.execute("DROP TABLE \(table)") }
    try library.execute("PRAGMA user_version = 9")
    try library.reopen()
    #expect(try members(library) == [])
    try library.catalog.configure(Self.stages)
    #expect(try members(library) == before)
    #expect(try library.integrity() == "ok")
  }

  // MARK: - Many files and versions

  @Test("A sidecar that is saved 250 times counts each time, and its group stays")
  func manyVersions() throws {
    let library = try makeLibrary()
    try take([Self.raw(1, "a.cr3"), Self.jpeg(2, "a.jpg")], library)
    for number in 3...252 {
      let file = Self.sidecar(number, "a.xmp", ["xmp:Rating": .integer(number % 5)])
      var asset = file.asset
      asset.supersedes = number == 3 ? nil : Samples.id(number - 1)
      try library.catalog.apply([.asset(asset)], manifestPosition: 0)
      for stage in ["identify", "metadata"] { try run(stage, [file], library) }
      #expect(try values(2, library).numbers[.rating] == Double(number % 5), "\(number)")
    }
    #expect(try members(library).prefix(2) == ["1 raw of 2 with 0", "2 primary of 2 with 0"])
    #expect(try library.count("SELECT count(*) FROM member") == 3)
    #expect(try library.integrity() == "ok")
    // The version before counts again.
    try library.catalog.apply([.trashed(Samples.id(252), at: .now)], manifestPosition: 0)
    #expect(try values(2, library).numbers[.rating] == Double(251 % 5))
    #expect(try library.integrity() == "ok")
  }

  @Test(
    "A version that is deleted for good or given back leaves the other as if it were alone",
    arguments: [false, true])
  func deletedVersion(hasRaw: Bool) throws {
    for (gone, left) in [(2, 3), (3, 2)] {
      for isAtOnce in [false, true] {
        let library = try makeLibrary()
        var newer = Self.jpeg(3, "a.jpg").asset
        newer.supersedes = Samples.id(2)
        try take((hasRaw ? [Self.raw(1, "a.cr3")] : []) + [Self.jpeg(2, "a.jpg")], library)
        let change =
          gone == 2
          ? CatalogChange.purged(Samples.id(2), sequence: 1)
          : .returned(
            Samples.id(3),
            Sighting(source: Samples.source, path: "d/a.jpg", state: .returned, seenAt: .now))
        if isAtOnce {
          try library.catalog.apply([.asset(newer), change], manifestPosition: 0)
        } else {
          try library.catalog.apply([.asset(newer)], manifestPosition: 0)
          try library.catalog.apply([change], manifestPosition: 0)
        }
        for stage in ["identify", "metadata"] { try run(stage, [Self.jpeg(3, "a.jpg")], library) }
        let expected = hasRaw ? ["1 raw of \(left)", "\(left) primary of \(left)"] : []
        #expect(try members(library) == expected)
        #expect(try library.count("SELECT count(*) FROM asset WHERE supersedes IS NOT NULL") == 0)
        #expect(try library.integrity() == "ok")
      }
    }
  }

  @Test("A sidecar is an orphan again when its newer version is given back")
  func returnedSidecar() throws {
    let library = try makeLibrary()
    try take([Self.sidecar(1, "a.xmp")], library)
    var newer = Self.sidecar(2, "a.xmp").asset
    newer.supersedes = Samples.id(1)
    try library.catalog.apply([.asset(newer)], manifestPosition: 0)
    for stage in ["identify", "metadata"] { try run(stage, [Self.sidecar(2, "a.xmp")], library) }
    #expect(try members(library) == ["2 orphan of 2"])
    try library.catalog.apply(
      [
        .returned(
          Samples.id(2),
          Sighting(source: Samples.source, path: "d/a.xmp", state: .returned, seenAt: .now))
      ], manifestPosition: 0)
    #expect(try members(library) == ["1 orphan of 1"])
    #expect(try library.integrity() == "ok")
  }

  @Test("With too many files of one stem a group ends, and with fewer it is formed again")
  func crowded() throws {
    let library = try makeLibrary()
    var crowd = (4...160).map { Self.jpeg($0, "a.jpg") }
    try take([Self.raw(1, "a.cr3"), crowd.removeFirst(), Self.sidecar(3, "a.cr3.xmp")], library)
    #expect(try members(library).count == 3)
    // They come together, and are known one after the other.
    try library.add(crowd.map(\.asset))
    for stage in ["identify", "metadata"] {
      for file in crowd { try run(stage, [file], among: 1, library) }
    }
    #expect(try members(library) == ["3 orphan of 3"])
    #expect(try library.integrity() == "ok")
    try take([Self.sidecar(200, "a.jpg.xmp")], library)
    #expect(try library.count("SELECT count(*) FROM member WHERE role = 'orphan'") == 2)
    #expect(try library.integrity() == "ok")
    for file in crowd {
      try library.catalog.apply([.trashed(file.asset.id, at: .now)], manifestPosition: 0)
    }
    #expect(try library.count("SELECT count(*) FROM member WHERE role = 'orphan'") == 0)
    #expect(try library.count("SELECT count(*) FROM member") == 4)
    #expect(try library.integrity() == "ok")
  }

  @Test("A sidecar that is deleted for good or given back says nothing any more")
  func deletedSidecar() throws {
    for change in [
      CatalogChange.purged(Samples.id(2), sequence: 1),
      .returned(
        Samples.id(2),
        Sighting(source: Samples.source, path: "d/a.xmp", state: .returned, seenAt: .now)),
    ] {
      let library = try makeLibrary()
      let said: JSONValue = ["xmp:Rating": 4, "dc:subject": ["lake"]]
      try take([Self.jpeg(1, "a.jpg"), Self.sidecar(2, "a.xmp", said)], library)
      #expect(try found("rating:4 tag:lake", library).contains(Samples.id(1)))
      try library.catalog.apply([change], manifestPosition: 0)
      #expect(try found("rating:4 or tag:lake", library) == [])
      #expect(try library.integrity() == "ok")
    }
  }

  @Test("A file whose last stage fails or is skipped is joined, and a retry lets it wait again")
  func unsuccessful() throws {
    let library = try makeLibrary()
    try take([Self.raw(1, "a.cr3"), Self.jpeg(2, "a.jpg")], stages: ["identify"], library)
    let jobs = try library.catalog.claim(stage: "metadata", limit: 9, suspects: false)
    for (job, outcome) in zip(
      jobs,
      [
        Completion.Outcome.failed(class: "permanent", reason: "Why.", retryAt: nil),
        .skipped(reason: "Why."),
      ])
    {
      _ = try library.catalog.complete([Completion(token: job.token, outcome: outcome, seconds: 1)])
      #expect(try library.integrity() == "ok")
    }
    #expect(try members(library) == ["1 raw of 2", "2 primary of 2"])
    _ = try library.catalog.retry(assets: nil)
    #expect(try members(library) == [])
    #expect(try library.integrity() == "ok")
  }

  @Test("Extensions differ in case, and names don't")
  func extensions() throws {
    let library = try makeLibrary()
    try take(
      [
        Self.jpeg(1, "IMG_1.JPG"), Self.sidecar(2, "IMG_1.jpg.xmp"), Self.jpeg(3, "IMG_2.JPG"),
        Self.sidecar(4, "img_2.jpg.xmp"),
      ], library)
    #expect(
      try members(library) == ["1 primary of 1 with 2", "2 sidecar of 1", "4 orphan of 4"])
  }

  // MARK: - Random folders

  @Test("Random folders have the same groups whatever the order, the pages and the detours")
  func anyOrder() throws {
    let seed = UInt64.random(in: 1..<1_000_000)
    var random = SeededRandom(seed: seed)
    for _ in 0..<12 {
      let files = Self.randomFiles(using: &random)
      let library = try makeLibrary()
      var rest = files.shuffled(using: &random)
      while !rest.isEmpty {
        let part = rest.prefix(Int.random(in: 1...7, using: &random))
        rest.removeFirst(part.count)
        try take(Array(part), stages: [], library)
        if Bool.random(using: &random) { try run("identify", files, library) }
        if Bool.random(using: &random) { try run("metadata", files, library) }
        let picked = files[Int.random(in: 0..<files.count, using: &random)].asset.id
        try library.catalog.apply([.trashed(picked, at: .now)], manifestPosition: 0)
        if Bool.random(using: &random) {
          try library.catalog.apply([.restored(picked)], manifestPosition: 0)
        }
        let problems = try library.integrity()
        #expect(problems == "ok", "seed \(seed)")
      }
      for file in files {
        try library.catalog.apply([.restored(file.asset.id)], manifestPosition: 0)
      }
      for stage in ["identify", "metadata"] { try run(stage, files, library) }
      let atOnce = try makeLibrary()
      try take(files, atOnce)
      let (incremental, whole) = (try members(library), try members(atOnce))
      #expect(incremental == whole && !whole.isEmpty, "seed \(seed)")
      #expect(try library.integrity() == "ok", "seed \(seed)")
      let pictures = try [library, atOnce].map { library in
        try files.map { try values($0.number, library).texts[.tag] ?? [] }
      }
      #expect(pictures[0] == pictures[1], "seed \(seed)")
    }
  }

  private static func randomFiles(using random: inout SeededRandom) -> [File] {
    func pick<Value>(_ values: [Value]) -> Value {
      values[Int.random(in: 0..<values.count, using: &random)]
    }
    return (1...40).map { number in
      let stem = pick(["IMG_1", "IMG_2", "IMG_1.5", "x"])
      let (ending, type) = pick([
        (".CR3", "image/x-canon-cr3"), (".JPG", "image/jpeg"), (".MOV", "video/quicktime"),
        (".xmp", "application/rdf+xml"), (".JPG.xmp", "application/rdf+xml"),
        (".JPG.RAF", "image/x-fuji-raf"), (".png", "image/png"), ("", "image/jpeg"),
      ])
      var file = File(
        number: number, name: stem + ending, folder: pick(["", "d/", "d/e/"]), type: type,
        taken: pick([
          nil, "2024-05-01T12:00:00", "2024-05-01T12:00:01.5", "2024-05-09T12:00:00", "2024-05-01",
        ]),
        camera: pick([nil, nil, "EOS R5", "X-T5"]))
      if type == "application/rdf+xml" {
        file.metadata["xmp"] = ["dc:subject": [.string("n\(number)")]]
      }
      if ending == ".MOV" || ending == ".JPG", Bool.random(using: &random) {
        file.metadata["contentIdentifier"] = pick(["A", "B"])
      }
      return file
    }
  }
}
