import Fixtures
import PipelineModel
import Query
import Records
import Testing

@testable import Catalog

/// Bursts in a catalog, whose files come, change and go in any order.
@Suite("Bursts in the catalog", .onEachDatabase, .timeLimit(.minutes(10)))
struct BurstTests {
  private static let identifier = "65A7DF0A-1F09-4600-917B-9572A16AD016"

  /// - Parameter seconds: when it was taken, after noon.
  private static func jpeg(
    _ number: Int, _ name: String, seconds: Double? = 0, camera: String? = "iPhone 12",
    burst: String? = nil
  ) -> SampleFile {
    var file = SampleFile(
      number: number, name: name, type: "image/jpeg", taken: seconds.map(time), camera: camera)
    if let burst { file.metadata["burstIdentifier"] = .string(burst) }
    return file
  }

  private static func raw(_ number: Int, _ name: String, seconds: Double? = 0) -> SampleFile {
    var file = jpeg(number, name, seconds: seconds)
    file.type = "image/x-canon-cr3"
    return file
  }

  private static func time(_ seconds: Double) -> String {
    let milliseconds = Int(seconds * 1_000)
    func digits(_ number: Int, _ count: Int) -> Substring {
      "\(1_000_000 + number)".suffix(count)
    }
    let (minute, second) = (milliseconds / 60_000, milliseconds / 1_000 % 60)
    return
      "2024-05-01T12:\(digits(minute, 2)):\(digits(second, 2)).\(digits(milliseconds % 1_000, 3))"
  }

  private static func number(_ id: AssetID) -> Int {
    (1...2_000).first { Samples.id($0) == id } ?? 0
  }

  /// The bursts: the cover, and all frames, by their numbers.
  private func bursts(_ library: Library) throws -> [Int: [Int]] {
    let frames = try library.catalog.read { (connection) throws(CatalogError) in
      try connection.all("SELECT asset, cover FROM frame ORDER BY asset") {
        (row) throws(CatalogError) in
        (Self.number(try row.assetID(0)), Self.number(try row.assetID(1)))
      }
    }
    return Dictionary(grouping: frames) { $0.1 }.mapValues { $0.map(\.0).sorted() }
  }

  private func expectSound(
    _ library: Library, _ comment: String = "", location: SourceLocation = #_sourceLocation
  ) throws {
    let problems = try library.integrity()
    #expect(problems == "ok", "\(comment)", sourceLocation: location)
  }

  private func found(_ query: String, _ library: Library) throws -> [Int] {
    try library.read { reader in
      try #require(try reader.find(AssetQuestion(try Filter(query: query, now: .now)))).map {
        Self.number($0)
      }
    }
  }

  private static func timed(_ within: String) -> GroupPolicy {
    GroupPolicy(
      GroupKind.allCases.map {
        GroupRule(kind: $0, within: $0 == .burst ? TimeSpan(within) : nil)
      })
  }

  // MARK: - Signs

  @Test("Pictures with one burst identifier are a burst, whatever their names and folders")
  func identifiers() throws {
    let library = try Library.ofFiles()
    var files = (1...3).map {
      Self.jpeg($0, "IMG_\($0).JPG", seconds: Double($0) / 10, burst: Self.identifier)
    }
    files[2].folder = "e/"
    try library.take(files, stages: ["identify"])
    #expect(try bursts(library) == [:])
    try library.run("metadata", files)
    #expect(try bursts(library) == [1: [1, 2, 3]])
    try library.take([Self.jpeg(4, "IMG_4.JPG"), Self.jpeg(5, "IMG_5.JPG", burst: "other")])
    var other = Self.jpeg(6, "IMG_6.JPG", burst: Self.identifier)
    other.source = "/elsewhere"
    try library.take([other])
    #expect(try bursts(library) == [1: [1, 2, 3]])
    #expect(try found("group:burst", library) == [1, 2, 3])
    #expect(try found("is:burst", library) == [1, 2, 3])
    #expect(try found("is:cover", library) == [1, 4, 5, 6])
    // Each is a shot of its own.
    #expect(try found("is:primary", library) == [1, 2, 3, 4, 5, 6])
    #expect(try found("is:grouped", library) == [])
    try expectSound(library)
  }

  @Test("Google's identifier and primary count, and the name chooses the cover if they don't")
  func google() throws {
    let library = try Library.ofFiles()
    var files = (1...3).map { Self.jpeg($0, "a\($0).jpg", seconds: Double($0)) }
    for index in files.indices {
      files[index].metadata["xmp"] = [
        "GCamera:BurstID": "b9b16484", "GCamera:BurstPrimary": .string(index == 1 ? "1" : "0"),
      ]
    }
    try library.take(files)
    #expect(try bursts(library) == [2: [1, 2, 3]])
    try library.take([
      Self.jpeg(11, "IMG_20240501_120000_BURST000.jpg"),
      Self.jpeg(12, "IMG_20240501_120000_BURST001_COVER.jpg"),
    ])
    #expect(try bursts(library) == [2: [1, 2, 3], 12: [11, 12]])
    try expectSound(library)
  }

  @Test("A number behind a time without camera or time is no sign: scanners write such names")
  func scanner() throws {
    let library = try Library.ofFiles()
    for (folder, seconds, camera) in [("a/", nil, "X-T5"), ("b/", 1.0, nil)]
      as [(String, Double?, String?)]
    {
      try library.take(
        (1...3).map { number in
          var file = Self.jpeg(
            number + (folder == "a/" ? 0 : 10), "20240501_120000_00\(number).jpg", seconds: seconds,
            camera: camera)
          file.folder = folder
          return file
        })
    }
    #expect(try bursts(library) == [:])
    try expectSound(library)
  }

  @Test("A number behind a time needs three pictures, and all pictures near times")
  func samsung() throws {
    let library = try Library.ofFiles()
    let files = (1...3).map { Self.jpeg($0, "20240501_120000_00\($0).jpg", seconds: Double($0)) }
    try library.take(Array(files[..<2]))
    #expect(try bursts(library) == [:])
    try library.take([files[2]])
    #expect(try bursts(library) == [1: [1, 2, 3]])
    try library.take([Self.jpeg(4, "20240501_120000_004.jpg", seconds: 605)])
    #expect(try bursts(library) == [:])
    try library.catalog.apply([.trashed(Samples.id(4), at: .now)], manifestPosition: 0)
    #expect(try bursts(library) == [1: [1, 2, 3]])
    try expectSound(library)
  }

  @Test("Other cameras are no burst, and unknown ones and times contradict nothing")
  func contradictions() throws {
    let library = try Library.ofFiles()
    try library.take([
      Self.jpeg(1, "a.jpg", burst: Self.identifier),
      Self.jpeg(2, "b.jpg", seconds: nil, camera: nil, burst: Self.identifier),
    ])
    #expect(try bursts(library) == [1: [1, 2]])
    try library.take([Self.jpeg(3, "c.jpg", camera: "X-T5", burst: Self.identifier)])
    #expect(try bursts(library) == [:])
    try expectSound(library)
    try library.catalog.apply([.purged(Samples.id(3), sequence: 1)], manifestPosition: 0)
    #expect(try bursts(library) == [1: [1, 2]])
    try expectSound(library)
  }

  @Test("A raw file and its JPEG are one shot of a burst")
  func shots() throws {
    let library = try Library.ofFiles()
    var files: [SampleFile] = []
    for number in 1...3 {
      files.append(
        Self.jpeg(number, "P_\(number).JPG", seconds: Double(number), burst: Self.identifier))
      files.append(Self.raw(number + 10, "P_\(number).CR3", seconds: Double(number)))
      // The raw file alone says it of the last one.
      if number == 3 {
        files[4].metadata = [:]
        files[5].metadata["burstIdentifier"] = .string(Self.identifier)
      }
    }
    try library.take(files.shuffled())
    #expect(try bursts(library) == [1: [1, 2, 3]])
    #expect(try found("is:burst", library) == [1, 2, 3, 11, 12, 13])
    #expect(try found("is:cover", library) == [1])
    #expect(try found("is:primary", library) == [1, 2, 3])
    #expect(try found("group:burst group:rawAndJPEG role:raw", library) == [11, 12, 13])
    #expect(try found("group=\"rawAndJPEG, burst\"", library).count == 6)
    // Without its JPEG, the raw file is the shot; without the raw file's word, the JPEG is none.
    try library.catalog.apply([.trashed(Samples.id(3), at: .now)], manifestPosition: 0)
    #expect(try bursts(library) == [1: [1, 2, 13]])
    try library.catalog.apply([.restored(Samples.id(3))], manifestPosition: 0)
    #expect(try bursts(library) == [1: [1, 2, 3]])
    try library.catalog.apply([.purged(Samples.id(13), sequence: 1)], manifestPosition: 0)
    #expect(try bursts(library) == [1: [1, 2]])
    try expectSound(library)
  }

  @Test("A shot whose files name two bursts is of none")
  func twoSigns() throws {
    let library = try Library.ofFiles()
    var raw = Self.raw(11, "P_1.CR3", seconds: 1)
    raw.metadata["burstIdentifier"] = "another"
    let files = (1...3).map {
      Self.jpeg($0, "P_\($0).JPG", seconds: Double($0), burst: Self.identifier)
    }
    try library.take(files + [raw])
    #expect(try bursts(library) == [2: [2, 3]])
    try expectSound(library)
  }

  @Test("Without its cover a burst has another one, and a new version replaces its frame")
  func deletion() throws {
    let library = try Library.ofFiles()
    try library.take(
      (1...4).map { Self.jpeg($0, "\($0).jpg", seconds: Double($0), burst: Self.identifier) })
    let before = try library.read { try $0.revision }
    try library.catalog.apply([.purged(Samples.id(1), sequence: 1)], manifestPosition: 0)
    #expect(try bursts(library) == [2: [2, 3, 4]])
    let changed = try library.read { try $0.changes(since: before).assets.map(\.id) }
    #expect(Set(changed).isSuperset(of: [Samples.id(2), Samples.id(3), Samples.id(4)]))
    var newer = Self.jpeg(9, "2.jpg", seconds: 2)
    try library.add([
      {
        var asset = newer.asset
        asset.supersedes = Samples.id(2)
        return asset
      }()
    ])
    #expect(try bursts(library) == [3: [3, 4]])
    newer.metadata["burstIdentifier"] = .string(Self.identifier)
    for stage in ["identify", "metadata"] { try library.run(stage, [newer]) }
    #expect(try bursts(library) == [9: [3, 4, 9]])
    try library.catalog.apply([.trashed(Samples.id(9), at: .now)], manifestPosition: 0)
    #expect(try bursts(library) == [2: [2, 3, 4]])
    try expectSound(library)
  }

  @Test("More files with one sign than are looked at are no burst, however they come")
  func tooMany() throws {
    let library = try Library.ofFiles()
    let most = BurstFormation.mostFiles
    let files = (1...(most + 1)).map { Self.jpeg($0, "\($0).jpg", burst: Self.identifier) }
      .shuffled()
    try library.take(Array(files.dropLast()))
    #expect(try bursts(library).values.map(\.count) == [most])
    try library.take([files[most]])
    #expect(try bursts(library) == [:])
    try expectSound(library)
    try library.catalog.apply([.purged(files[7].asset.id, sequence: 1)], manifestPosition: 0)
    #expect(try bursts(library).values.map(\.count) == [most])
  }

  @Test("Another policy parts bursts and joins them again")
  func policy() throws {
    let library = try Library.ofFiles()
    try library.take((1...3).map { Self.jpeg($0, "\($0).jpg", burst: Self.identifier) })
    try library.catalog.configureGroups(GroupPolicy([GroupRule(kind: .rawAndJPEG)]))
    try library.catalog.configure(SampleFile.stages)
    #expect(try bursts(library) == [:])
    try library.catalog.configureGroups(.standard)
    try library.catalog.configure(SampleFile.stages)
    #expect(try bursts(library) == [1: [1, 2, 3]])
    try expectSound(library)
  }

  @Test("A catalog of an older version gets its bursts", .onlySQLite, arguments: [10, 11])
  func migration(version: Int) throws {
    let library = try Library.ofFiles()
    try library.take((1...3).map { Self.jpeg($0, "\($0).jpg", burst: Self.identifier) })
    try library.dropBursts()
    try library.execute("UPDATE setting SET value = '2' WHERE key = '\(Setting.pictures)'")
    try library.execute("PRAGMA user_version = \(version)")
    try library.reopen()
    #expect(try bursts(library) == [:])
    try library.catalog.configure(SampleFile.stages)
    #expect(try bursts(library) == [1: [1, 2, 3]])
    try expectSound(library)
  }

  // MARK: - Times

  @Test("Times and numbers join at least three pictures of one camera, if the policy says how near")
  func times() throws {
    let library = try Library.ofFiles()
    let files = (1...5).map { Self.jpeg($0, "DSC_000\($0).JPG", seconds: Double($0) / 5) }
    try library.take(files.filter { $0.number != 3 })
    #expect(try bursts(library) == [:])
    try library.catalog.configureGroups(Self.timed("250ms"))
    try library.catalog.configure(SampleFile.stages)
    #expect(try bursts(library) == [:])
    try library.take([files[2]])
    #expect(try bursts(library) == [1: [1, 2, 3, 4, 5]])
    try expectSound(library)
    // Others that do not go on with it.
    try library.take([
      Self.jpeg(6, "DSC_0006.JPG", seconds: 2), Self.jpeg(7, "DSC_0007.JPG", seconds: 2.1),
      Self.jpeg(8, "DSC_0008.JPG", seconds: 2.2, camera: "X-T5"),
      Self.jpeg(9, "DSC_0009.JPG", seconds: 2.3, camera: nil),
      Self.jpeg(10, "DSC_0010.JPG", seconds: nil),
      Self.jpeg(11, "DSC_0000.JPG", seconds: 0.1, burst: Self.identifier),
    ])
    #expect(try bursts(library) == [1: [1, 2, 3, 4, 5]])
    // The first goes, and one in the middle.
    try library.catalog.apply([.purged(Samples.id(1), sequence: 1)], manifestPosition: 0)
    #expect(try bursts(library) == [2: [2, 3, 4, 5]])
    try library.catalog.apply([.trashed(Samples.id(3), at: .now)], manifestPosition: 0)
    #expect(try bursts(library) == [:])
    try expectSound(library)
    try library.catalog.apply([.restored(Samples.id(3))], manifestPosition: 0)
    #expect(try bursts(library) == [2: [2, 3, 4, 5]])
    try library.catalog.configureGroups(.standard)
    try library.catalog.configure(SampleFile.stages)
    #expect(try bursts(library) == [:])
    try expectSound(library)
  }

  /// The most shots in a chain.
  private static let most = CatalogWriter.mostShots

  /// A library whose bursts are joined by times.
  private static func timedLibrary() throws -> Library {
    let library = try Library.ofFiles()
    try library.catalog.configureGroups(timed("500ms"))
    try library.catalog.configure(SampleFile.stages)
    return library
  }

  /// A shot of a chain, by its place in it.
  private static func shot(_ number: Int) -> SampleFile {
    jpeg(number, "\(1_000 + number).jpg", seconds: Double(number) / 4)
  }

  @Test("A chain of more shots than a burst may have is none, however it grows")
  func longChain() throws {
    let (library, most) = (try Self.timedLibrary(), Self.most)
    let gap = most / 2
    try library.take((1...(most + 1)).filter { $0 != gap }.map(Self.shot).shuffled())
    #expect(try bursts(library).keys.sorted() == [1, gap + 1])
    try library.take([Self.shot(gap)])
    #expect(try bursts(library) == [:])
    try expectSound(library)
    try library.catalog.apply(
      [.trashed(Samples.id(most + 1), at: .now)], manifestPosition: 0)
    #expect(try bursts(library) == [1: Array(1...most)])
    try expectSound(library)
  }

  @Test("What comes before a burst makes it too long as a whole")
  func longerAtTheStart() throws {
    let (library, most) = (try Self.timedLibrary(), Self.most)
    try library.take((4...(most + 3)).map(Self.shot))
    #expect(try bursts(library) == [4: Array(4...(most + 3))])
    try library.take((1...3).map(Self.shot))
    #expect(try bursts(library) == [:])
    try expectSound(library)
  }

  @Test("A shot that is given back leaves a burst that it made too long")
  func shorter() throws {
    let (library, most) = (try Self.timedLibrary(), Self.most)
    let files = (1...(most + 1)).map(Self.shot)
    try library.take(Array(files.dropLast()))
    try library.take([files[most]])
    #expect(try bursts(library) == [:])
    let last = files[most].asset
    try library.catalog.apply(
      [
        .returned(
          last.id, Sighting(source: last.source, path: last.path, state: .returned, seenAt: .now))
      ], manifestPosition: 0)
    #expect(try bursts(library) == [1: Array(1...most)])
    try expectSound(library)
  }

  // MARK: - Random folders

  @Test("Random folders have the same bursts and links whatever the order and the detours")
  func anyOrder() throws {
    let seed = UInt64.random(in: 1..<1_000_000)
    var random = SeededRandom(seed: seed)
    var (framed, linked) = (0, 0)
    // Each round takes PostgreSQL some seconds.
    let isSQLite = TestedDatabase.current == .sqlite
    for round in 0..<(isSQLite ? 14 : 2) {
      let files = Self.randomFiles(using: &random)
      let policy = round.isMultiple(of: 2) ? GroupPolicy.standard : Self.timed("1s")
      let (library, atOnce) = (try Library.ofFiles(), try Library.ofFiles())
      for library in [library, atOnce] {
        try library.catalog.configureGroups(policy)
        try library.catalog.configure(SampleFile.stages)
      }
      var rest = files.shuffled(using: &random)
      while !rest.isEmpty {
        let part = rest.prefix(Int.random(in: 1...9, using: &random))
        rest.removeFirst(part.count)
        try library.take(Array(part), stages: [])
        if Bool.random(using: &random) { try library.run("identify", files) }
        if Bool.random(using: &random) { try library.run("metadata", files) }
        let picked = files[Int.random(in: 0..<files.count, using: &random)].asset.id
        try library.catalog.apply([.trashed(picked, at: .now)], manifestPosition: 0)
        if Bool.random(using: &random) {
          try library.catalog.apply([.restored(picked)], manifestPosition: 0)
        }
        try expectSound(library, "seed \(seed)")
      }
      for file in files {
        try library.catalog.apply([.restored(file.asset.id)], manifestPosition: 0)
      }
      for stage in ["identify", "metadata"] { try library.run(stage, files) }
      try atOnce.take(files)
      #expect(try rows(library) == rows(atOnce), "seed \(seed)")
      framed += try library.count("SELECT count(*) FROM frame")
      linked += try library.count("SELECT count(*) FROM member WHERE link IS NOT NULL")
      // Some are deleted for good.
      for file in files where Int.random(in: 0..<4, using: &random) == 0 {
        try library.catalog.apply([.purged(file.asset.id, sequence: 1)], manifestPosition: 0)
        try expectSound(library, "seed \(seed)")
      }
    }
    #expect(
      !isSQLite || framed > 10 && linked > 0, "seed \(seed): \(framed) frames, \(linked) linked")
  }

  private func rows(_ library: Library) throws -> [String] {
    try library.makeQuote()
    return try library.catalog.read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT hex(asset) || hex(cover) || quote(sign) FROM frame
        UNION ALL SELECT hex(asset) || hex(leader) || role || kinds || quote(link) FROM member
        ORDER BY 1
        """
      ) { $0.text(0) }
    }
  }

  private static func randomFiles(using random: inout SeededRandom) -> [SampleFile] {
    func pick<Value>(_ values: [Value]) -> Value {
      values[Int.random(in: 0..<values.count, using: &random)]
    }
    return (1...40).map { number in
      let stem = pick([
        "DSC_0001", "DSC_0002", "DSC_0003", "DSC_0004", "DSC_0005", "X_BURST001", "X_BURST002",
        "20240501_120000_001", "20240501_120000_002", "20240501_120000_003",
      ])
      let (ending, type) = pick([
        (".CR3", "image/x-canon-cr3"), (".JPG", "image/jpeg"), (".JPG", "image/jpeg"),
        (".MOV", "video/quicktime"), (".xmp", "application/rdf+xml"),
      ])
      var file = SampleFile(
        number: number, name: stem + ending, folder: pick(["", "d/"]), type: type,
        taken: pick([
          nil, time(0), time(0), time(0.5), time(0.5), time(1), time(1), time(1.2), time(1.2),
          "2024-05-09T12:00:00", "2024-05-01",
        ]),
        camera: pick([nil, "X-T5"] + Array(repeating: "iPhone 12", count: 10)))
      if type.hasPrefix("image/"), Int.random(in: 0..<4, using: &random) == 0 {
        file.metadata["burstIdentifier"] = pick(["A", "B"])
      }
      if !type.hasPrefix("application/"), Int.random(in: 0..<3, using: &random) == 0 {
        file.metadata["contentIdentifier"] = .string("L\(Int.random(in: 1...7, using: &random))")
      }
      return file
    }
  }
}
