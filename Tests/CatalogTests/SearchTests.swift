import Fixtures
import PipelineModel
import Records
import Testing

@testable import Catalog
@testable import Query

/// What SQL finds, compared with what a filter says of each asset.
@Suite("Searches", .onEachDatabase, .timeLimit(.minutes(10)))
struct SearchTests {
  /// Another one in each run; failures print it.
  private static let seed = UInt64.random(in: 1..<1_000_000)

  /// Calls a body with a library of 200 assets, and their values as facts have them.
  private static func described(
    _ body: (CatalogReader, [(id: AssetID, values: AssetValues)], inout SeededRandom) throws -> Void
  ) throws {
    var random = SeededRandom(seed: seed)
    let described = try DescribedLibrary(200, using: &random)
    try described.library.read { reader in try body(reader, try values(reader), &random) }
  }

  /// All assets with their values, as facts have them.
  private static func values(_ reader: CatalogReader) throws -> [(id: AssetID, values: AssetValues)]
  {
    var all: [(AssetID, AssetValues)] = []
    try reader.assetValues(after: nil, withMetadata: true) { all.append(($0, $1)) }
    return all
  }

  @Test("10,000 random filters find in SQL what they find in Swift")
  func filters() throws {
    try Self.described { reader, all, random in
      #expect(all.count == 200)
      var filters = RandomFilter(random: random)
      var (found, differences) = (0, 0)
      for _ in 0..<10_000 where differences < 5 {
        let filter = filters.next()
        let expected = all.filter { filter.holds(for: $0.values) }.map(\.id)
        let actual = try #require(try reader.find(AssetQuestion(filter)))
        let count = try reader.count(filter)
        found += actual.count
        if actual != expected || count != expected.count {
          differences += 1
          Issue.record("seed \(Self.seed): \(filter) finds \(actual), not \(expected)")
        }
      }
      // Most filters find some assets and leave out others.
      #expect((200_000..<1_800_000).contains(found), "\(found)")
      for kind in RandomFilter.kinds {
        #expect(filters.counts[kind, default: 0] >= 100, "\(kind)")
      }
    }
  }

  @Test("Random orders sort in SQL as in Swift, and each page begins after the one before")
  func orders() throws {
    try Self.described { reader, all, random in
      for round in 0..<300 {
        let fields = (0..<Int.random(in: 1...3, using: &random)).map { _ in
          Field.all.randomElement(using: &random) ?? .time(.taken)
        }
        let order = ([round % 3 == 0 ? .time(.taken) : fields[0]] + fields.dropFirst()).map {
          SortCriterion(
            $0, isDescending: Bool.random(using: &random), isNilFirst: Bool.random(using: &random))
        }
        let filter: Filter =
          [
            .everything, .time(.taken, TimeRange(lower: 0, upper: nil)),
            .text(.camera, .equals("Fuji")), .not(.flag(.trashed)),
          ].randomElement(using: &random) ?? .everything
        let expected = Self.sorted(all.filter { filter.holds(for: $0.values) }, by: order)
        let whole = try reader.find(AssetQuestion(filter, order: order))
        #expect(whole == expected.map(\.id), "seed \(Self.seed): \(filter) by \(order)")
        let offset = Int.random(in: 0...(expected.count + 1), using: &random)
        let rest = try reader.find(
          AssetQuestion(filter, order: order, limit: 20, offset: offset))
        #expect(
          rest == expected.dropFirst(offset).prefix(20).map(\.id),
          "seed \(Self.seed): \(filter) by \(order) from \(offset)")
        let assets = try reader.foundAssets(
          by: AssetQuestion(filter, order: order, limit: 20, offset: offset),
          withRenditions: false)
        let read = try reader.foundAssets(rest ?? [], withRenditions: false)
        #expect(
          assets.map { "\($0)" } == read.map { "\($0)" },
          "seed \(Self.seed): \(filter) by \(order) from \(offset)")
        var pages: [AssetID] = []
        var start: AssetQuestion.Start?
        while true {
          let page = try #require(
            try reader.find(AssetQuestion(filter, order: order, start: start, limit: 37)))
          pages += page
          guard page.count == 37, let last = expected.first(where: { $0.id == page.last }) else {
            break
          }
          start = .init(id: last.id, keys: order.map { $0.value(of: last.values) })
        }
        #expect(pages == expected.map(\.id), "seed \(Self.seed): pages of \(filter) by \(order)")
      }
    }
  }

  /// Sorts assets, those without a value last.
  private static func sorted(
    _ assets: [(id: AssetID, values: AssetValues)], by order: [SortCriterion]
  ) -> [(id: AssetID, values: AssetValues)] {
    assets.sorted { left, right in
      for criterion in order {
        let (a, b) = (criterion.value(of: left.values), criterion.value(of: right.values))
        if a == b { continue }
        if a == .none || b == .none { return (a == .none) == criterion.isNilFirst }
        return criterion.isDescending ? b < a : a < b
      }
      return left.id < right.id
    }
  }

  @Test("Assets read from the rows for searches are those that facts describe")
  func foundAssets() throws {
    try Self.described { reader, all, random in
      let ids = all.map(\.id).shuffled(using: &random)
      let gone = Samples.id(900_000)
      let read = try reader.foundAssets([gone] + ids, withRenditions: true)
      let found = try #require(read)
      #expect(found.map(\.id) == ids, "seed \(Self.seed)")
      let values = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0.values) })
      for asset in found {
        let expected = try #require(values[asset.id])
        let texts: [(TextField, String?)] = [
          (.name, asset.name), (.source, asset.source), (.path, asset.path),
          (.state, asset.state), (.type, asset.type), (.kind, asset.kind),
          (.camera, asset.camera), (.lens, asset.lens), (.title, asset.title),
          (.caption, asset.caption), (.digest, asset.digest.hex),
        ]
        for (field, text) in texts {
          #expect(text == expected.texts[field]?.first, "\(field), seed \(Self.seed)")
        }
        #expect(asset.tags == expected.texts[.tag] ?? [], "seed \(Self.seed)")
        #expect(asset.albums == expected.texts[.album] ?? [], "seed \(Self.seed)")
        let times: [(TimeField, Int64?)] = [
          (.taken, asset.taken), (.imported, asset.imported), (.modified, asset.modified),
          (.trashed, asset.trashed),
        ]
        for (field, time) in times { #expect(time == expected.times[field], "\(field)") }
        let numbers: [(NumberField, Double?)] = [
          (.size, asset.size), (.width, asset.width), (.height, asset.height), (.iso, asset.iso),
          (.aperture, asset.aperture), (.exposure, asset.exposure), (.focal, asset.focal),
          (.rating, asset.rating), (.latitude, asset.latitude), (.longitude, asset.longitude),
        ]
        for (field, number) in numbers { #expect(number == expected.numbers[field], "\(field)") }
        let record = try reader.asset(asset.id)
        #expect(asset.renditions == record?.renditions, "seed \(Self.seed)")
      }
      let without = try reader.foundAssets([ids[0]], withRenditions: false)
      #expect(without?.count == 1 && without?[0].renditions == nil)
    }
  }

  @Test("Random groups are counted in SQL as in Swift")
  func groups() throws {
    try Self.described { reader, all, random in
      var filters = RandomFilter(random: random)
      for name in Grouping.names {
        let grouping = try #require(Grouping(name))
        for filter in [Filter.everything] + (0..<5).map({ _ in filters.next() }) {
          guard let groups = try reader.groups(filter, by: grouping) else {
            #expect(name == "taken")
            continue
          }
          var expected: [String?: Int] = [:]
          for (_, values) in all where filter.holds(for: values) {
            for key in grouping.keys(of: values) { expected[key, default: 0] += 1 }
          }
          #expect(groups == expected, "seed \(Self.seed): \(filter) by \(name)")
        }
      }
    }
  }

  @Test("The values of fields are counted in SQL as in Swift")
  func fieldValues() throws {
    try Self.described { reader, all, _ in
      for field in [TextField.type, .kind, .camera, .lens, .tag, .album, .source, .role] {
        var expected: [String: Int] = [:]
        for (_, values) in all {
          for key in Grouping.field(.text(field)).keys(of: values) {
            if let key { expected[key, default: 0] += 1 }
          }
        }
        let counted = try reader.values(of: field)
        #expect(counted == expected, "seed \(Self.seed): \(field)")
      }
    }
  }

  @Test("Damage that is listed elsewhere is found, too")
  func damage() throws {
    let library = try Library()
    try library.add((1...3).map { Samples.asset($0) })
    try library.read { reader in
      let damaged: Set = [Samples.id(2)]
      let unlisted = try reader.find(AssetQuestion(.flag(.damaged)))
      let listed = try reader.find(AssetQuestion(.flag(.damaged), damaged: damaged))
      let whole = try reader.count(.not(.flag(.damaged)), damaged: damaged)
      #expect(unlisted == [] && listed == [Samples.id(2)] && whole == 2)
    }
  }

  @Test("A filter of ten thousand alternatives is answered")
  func manyAlternatives() throws {
    let library = try Library()
    try library.add((1...3).map { Samples.asset($0) })
    let names = (0..<10_000).map { Filter.text(.name, .equals("IMG_\($0).jpg")) }
    try library.read { reader in
      let (any, all) = (try reader.count(.any(names)), try reader.count(.all(names)))
      #expect(any == 3 && all == 0)
    }
  }

  // MARK: Keeping the rows

  @Test("A catalog of version 5 is searchable once its stages are configured")
  func fromVersion5() throws {
    let library = try Library()
    try library.catalog.configure(Samples.stages())
    try library.add((1...1500).map { Samples.asset($0) })
    // As version 5 left it.
    try library.execute("DELETE FROM picture")
    try library.execute("DELETE FROM setting WHERE key = '\(Setting.pictures)'")
    try library.reopen()
    #expect(try library.read { try $0.count(.everything) } == nil)
    // A kill after the second page.
    var pages = 0
    try library.catalog.configure(Samples.stages()) {
      pages += 1
      return pages > 3
    }
    #expect((1..<1500).contains(try library.count("SELECT count(*) FROM picture")))
    #expect(try library.read { try $0.count(.everything) } == nil)
    try library.add([Samples.asset(1501)])
    try library.catalog.configure(Samples.stages())
    #expect(try library.read { try $0.count(.everything) } != nil)
    #expect(try library.read { try $0.count(.everything) } == 1501)
    #expect(try library.integrity() == "ok")
  }

  @Test("States are told while a change of stages is under way")
  func statesMidway() throws {
    let library = try Library()
    try library.catalog.configure(Samples.stages())
    try library.add((1...1500).map { Samples.asset($0) })
    let jobs = try library.catalog.claim(stage: "identify", limit: 1500, suspects: false)
    _ = try library.catalog.complete(
      jobs.suffix(2).map {
        Completion(
          token: $0.token, outcome: .failed(class: "permanent", reason: "Why.", retryAt: nil),
          seconds: 1)
      })
    var pages = 0
    try library.catalog.configure(Samples.stages(identify: 11)) {
      pages += 1
      return pages > 1
    }
    try library.read { reader in
      for flag in [Flag.failed, .processing, .ready, .done] {
        var expected: [AssetID] = []
        try reader.assetValues(after: nil, withMetadata: false) { id, values in
          if values.flags.contains(flag) { expected.append(id) }
        }
        let found = try reader.find(AssetQuestion(.flag(flag)))
        #expect(found == expected, "\(flag)")
        #expect(flag == .done || !expected.isEmpty, "\(flag)")
      }
    }
  }

  @Test("Deep and long conditions are answered, or left to Swift; none is an error")
  func deepConditions() throws {
    let library = try Library()
    try library.add((1...3).map { Samples.asset($0) })
    let leaf = Filter.text(.name, .contains("img"))
    var (left, right, chain) = (leaf, leaf, leaf)
    try library.read { reader in
      let values = try #require(try reader.assetValues(Samples.id(1)))
      for depth in 1...200 {
        left = depth % 2 == 0 ? .all([left, leaf]) : .any([left, leaf])
        right = depth % 2 == 0 ? .all([leaf, right]) : .any([leaf, right])
        chain = .not(.all([leaf, chain, leaf]))
        for filter in [left, right, chain] {
          let count = try reader.count(filter)
          let expected = filter.holds(for: values) ? 3 : 0
          #expect(count == nil && depth > 15 || count == expected, "\(depth)")
        }
      }
      // As deep as a query may be.
      let query =
        String(repeating: "(name:img or (", count: 30) + "name:x"
        + String(repeating: "))", count: 30)
      let found = try reader.find(AssetQuestion(try Filter(query: query)))
      #expect(found?.count ?? 3 == 3)
      let names = (0..<40_000).map { Filter.text(.name, .equals("\($0)")) }
      let many = try reader.count(.any(names))
      #expect(many == nil)
    }
  }

  @Test(
    "An order by time, and a camera, are found by their indexes, however conditions are nested",
    .onlySQLite)
  func indexes() throws {
    let library = try Library()
    try library.add([Samples.asset(1)])
    let time = Filter.time(.taken, TimeRange(lower: 0, upper: 9))
    let camera = Filter.text(.camera, .equals("Fuji"))
    let nested = Filter.all([.all([.flag(.square), camera]), .all([.not(.flag(.failed))])])
    let order = [SortCriterion(.time(.taken), isDescending: true)]
    try library.read { reader in
      for (filter, index, isSorted) in [
        (Filter.everything, "picture_taken", false), (time, "picture_taken", false),
        (nested, "picture_camera", false), (.flag(.square), "SCAN picture", true),
      ] {
        let statements = try #require(
          try reader.explain(AssetQuestion(filter, order: order, limit: 5)))
        let plan = statements[0].plan
        #expect(plan.contains { $0.contains(index) }, "\(filter): \(plan)")
        #expect(plan.contains("USE TEMP B-TREE FOR ORDER BY") == isSorted, "\(filter): \(plan)")
      }
    }
  }

  @Test("Rows follow stages that come, go and change places")
  func stages() throws {
    let library = try Library()
    let first = Samples.stage("first", plugin: "identify", fingerprint: 1)
    let second = Samples.stage("second", plugin: "identify", fingerprint: 2)
    func widths(_ stages: [StageDefinition]) throws -> [AssetID]? {
      try library.catalog.configure(stages)
      for stage in stages {
        let jobs = try library.catalog.claim(stage: stage.name, limit: 9, suspects: false)
        _ = try library.catalog.complete(
          jobs.map {
            Completion(
              token: $0.token,
              outcome: .done(facts: ["width": stage.name == "first" ? 1 : 2], renditions: []),
              seconds: 1)
          })
      }
      #expect(try library.integrity() == "ok")
      let one = NumberRange.Bound(value: 1, isIncluded: true)
      return try library.read {
        try $0.find(AssetQuestion(.number(.width, NumberRange(lower: one, upper: one))))
      }
    }
    try library.add([Samples.asset(1), Samples.asset(2)])
    let both = [Samples.id(1), Samples.id(2)]
    #expect(try widths([first]) == both)
    #expect(try widths([first, second]) == both)
    #expect(try widths([second, first]) == [])
    #expect(try widths([first]) == both)
    // One that comes back has facts at once; until its rows are made, facts are read.
    try library.catalog.configure([second])
    try library.catalog.configure([first, second]) { true }
    #expect(try library.read { try $0.count(.everything) } == nil)
    #expect(try widths([first, second]) == both)
    #expect(try widths([]) == [])
    #expect(try library.read { try $0.count(.everything) } != nil)
  }
}
