import PipelineModel
import Testing

@testable import Query

/// What the words of a query mean.
@Suite("The words of a query", .timeLimit(.minutes(1)))
struct FilterParserTests {
  private func filter(_ query: String) throws -> Filter { try Filter(query: query, now: .now) }

  private func tag(_ text: String) -> Filter { .text(.tag, .contains(text)) }

  private func range(
    from lower: (Double, Bool)? = nil, to upper: (Double, Bool)? = nil
  ) -> NumberRange {
    NumberRange(
      lower: lower.map { .init(value: $0.0, isIncluded: $0.1) },
      upper: upper.map { .init(value: $0.0, isIncluded: $0.1) })
  }

  @Test("Words side by side must all hold; `or` binds less than they do, `-` and brackets more")
  func structure() throws {
    let (a, b, c) = (tag("a"), tag("b"), tag("c"))
    #expect(try filter("") == .everything)
    #expect(try filter("tag:a") == a)
    #expect(try filter("tag:a tag:b") == .all([a, b]))
    #expect(try filter("tag:a tag:b or tag:c") == .any([.all([a, b]), c]))
    #expect(try filter("tag:a (tag:b OR tag:c)") == .all([a, .any([b, c])]))
    #expect(try filter("-tag:a not tag:b") == .all([.not(a), .not(b)]))
    #expect(try filter("-(tag:a or tag:b)") == .not(.any([a, b])))
    #expect(try filter("--tag:a") == .not(.not(a)))
    #expect(try Filter(words: ["tag:a", "(tag:b or", "tag:c)"]) == .all([a, .any([b, c])]))
  }

  @Test("A combining mark behind a part of the syntax leaves that as it is")
  func combiningMarks() throws {
    let mark = "\u{301}"
    #expect(try filter("name=\"\(mark)a\"") == .text(.name, .equals("\(mark)a")))
    #expect(try filter("name=\(mark)a") == .text(.name, .equals("\(mark)a")))
    #expect(try filter("tag:e\(mark)") == tag("e") && filter("tag:\u{e9}") == tag("e"))
  }

  @Test("A range that ends before it begins is refused, also where the ends meet")
  func reversedRanges() throws {
    for query in ["taken:2025..2024", "taken:2024-05..2024-04", "iso:2..1"] {
      let error = #expect(throws: QueryError.self) { _ = try filter(query) }
      #expect(error?.message.contains("ends before it begins") == true, "\(query)")
    }
    for query in ["taken:2024..2024", "taken:2024..2025", "imported:7d..7d"] {
      _ = try filter(query)
    }
  }

  @Test("A text is contained, whole, a pattern, one of several, missing or there")
  func texts() throws {
    #expect(try filter("camera:Fuji") == .text(.camera, .contains("fuji")))
    #expect(try filter("CAMERA:Fuji") == .text(.camera, .contains("fuji")))
    #expect(try filter("camera=\"Fuji X-T5\"") == .text(.camera, .equals("Fuji X-T5")))
    #expect(try filter("\"Camera:fuji x\"") == anywhere("camera:fuji x"))
    #expect(try filter("name:*.JPG") == .text(.name, .pattern([.any] + characters(".jpg"))))
    #expect(
      try filter("name:\"A *\"?") == .text(.name, .pattern(characters("a *") + [.one])))
    #expect(try filter("name:\"*.jpg\"") == .text(.name, .contains("*.jpg")))
    #expect(try filter("tag:a,b") == .any([tag("a"), tag("b")]))
    #expect(try filter("tag:\"a,b\"") == tag("a,b"))
    #expect(try filter("camera=") == .not(.known(.text(.camera))))
    #expect(try filter("camera:*") == .known(.text(.camera)))
    #expect(try filter("type:raw") == .text(.kind, .equals("raw")))
    #expect(try filter("type:jpeg") == .text(.type, .contains("jpeg")))
    // Both forms of a name are the same query.
    #expect(try filter("name=cafe\u{301}") == filter("name=caf\u{e9}"))
    #expect(try filter("name:CAFE\u{301}") == filter("name:cafe"))
    #expect(try filter(#"title:"say \"x\"""#) == .text(.title, .contains("say \"x\"")))
  }

  private func characters(_ text: String) -> [PatternPart] {
    text.unicodeScalars.map { .character($0) }
  }

  private func anywhere(_ text: String) -> Filter {
    .any(AssetValues.searched.map { .text($0, .contains(text)) })
  }

  private func word(_ text: String) -> SearchWord { SearchWord(text: text, isPrefix: false) }

  @Test("A word alone is looked for everywhere, with `*` as the beginning of one")
  func words() throws {
    #expect(try filter("Été") == .words([word("ete")]))
    #expect(try filter("IMG_12*") == .words([word("img"), SearchWord(text: "12", isPrefix: true)]))
    #expect(try filter("12:30") == .words([word("12"), word("30")]))
    #expect(try filter("\"Summer lake\"") == anywhere("summer lake"))
    #expect(try filter("\"sum\"*") == .words([SearchWord(text: "sum", isPrefix: true)]))
  }

  @Test("Brackets within a word belong to it, as in the names of copies")
  func brackets() throws {
    #expect(try filter("name:IMG(1).jpg") == .text(.name, .contains("img(1).jpg")))
    #expect(try filter("(name:IMG(1).jpg)") == .text(.name, .contains("img(1).jpg")))
    #expect(try filter("not(tag:a or tag:b)") == .not(.any([tag("a"), tag("b")])))
    #expect(try filter("tag:a or(tag:b)") == .any([tag("a"), tag("b")]))
  }

  @Test("Numbers have units and ranges")
  func numbers() throws {
    let cases: [(String, NumberField, NumberRange)] = [
      ("iso:400", .iso, range(from: (400, true), to: (400, true))),
      ("iso=400", .iso, range(from: (400, true), to: (400, true))),
      ("iso:100..800", .iso, range(from: (100, true), to: (800, true))),
      ("iso:100..", .iso, range(from: (100, true))), ("iso:..800", .iso, range(to: (800, true))),
      ("rating>=4", .rating, range(from: (4, true))),
      ("rating>4", .rating, range(from: (4, false))),
      ("rating<=-1", .rating, range(to: (-1, true))), ("rating<4", .rating, range(to: (4, false))),
      ("size>20MB", .size, range(from: (20_000_000, false))),
      ("size>=1.5GiB", .size, range(from: (1_610_612_736, true))),
      ("exposure<=1/250", .exposure, range(to: (0.004, true))),
      ("exposure>2s", .exposure, range(from: (2, false))),
      ("aperture:f/2.8", .aperture, range(from: (2.8, true), to: (2.8, true))),
      ("focal>50mm", .focal, range(from: (50, false))),
    ]
    for (query, field, expected) in cases {
      #expect(try filter(query) == .number(field, expected), "\(query)")
    }
    #expect(
      try filter("near:48.14,-11.58,500m")
        == .near(Area(latitude: 48.14, longitude: -11.58, radius: 500)))
    #expect(
      try filter("near:48.14,11.58,10")
        == .near(Area(latitude: 48.14, longitude: 11.58, radius: 10_000)))
  }

  @Test("A date is its whole year, month, day, hour, minute or second, at both ends")
  func dates() throws {
    let day: Int64 = 86_400_000_000
    // 2024-01-01 is day 19,723.
    let (january, february, march) = (19_723 * day, 19_754 * day, 19_783 * day)
    let cases: [(String, Int64?, Int64?)] = [
      ("taken:2024-01", january, february), ("taken=2024-02", february, march),
      ("taken:2024-01..2024-02", january, march), ("taken:2024-02..", february, nil),
      ("taken:..2024-01", nil, february), ("taken<2024-02", nil, february),
      ("taken<=2024-01", nil, february), ("taken>2024-01", february, nil),
      ("taken>=2024-01", january, nil), ("taken:2024", january, january + 366 * day),
      ("taken:2024-01-31", february - day, february),
      ("taken:2024-01-01T12", january + day / 2, january + day / 2 + day / 24),
      ("taken:2024-01-01T00:01", january + day / 1440, january + day / 720),
      ("taken:2024-01-01T00:00:01", january + 1_000_000, january + 2_000_000),
      ("taken:1969-12-31T23:59:59", -1_000_000, 0),
    ]
    for (query, lower, upper) in cases {
      #expect(
        try filter(query) == .time(.taken, TimeRange(lower: lower, upper: upper)), "\(query)")
    }
  }

  @Test("Days ago and today go by the clock")
  func relativeDates() throws {
    let now = Timestamp(microseconds: 1_700_000_000_123_456)
    let week: Int64 = 7 * 86_400_000_000
    let parsed = try Filter(query: "imported:7d", now: now)
    #expect(parsed == .time(.imported, TimeRange(lower: now.microseconds - week, upper: nil)))
    let older = try Filter(query: "imported<1w", now: now)
    #expect(older == .time(.imported, TimeRange(lower: nil, upper: now.microseconds - week)))
    guard case .time(.imported, let today) = try Filter(query: "imported:today", now: now),
      case .time(.imported, let yesterday) = try Filter(query: "imported:yesterday", now: now)
    else { return #expect(Bool(false)) }
    #expect(today.contains(now.microseconds) && yesterday.upper == today.lower)
  }

  @Test("States and values that are there")
  func flags() throws {
    #expect(try filter("is:trashed") == .flag(.trashed))
    #expect(try filter("-is:trashed,failed") == .not(.any([.flag(.trashed), .flag(.failed)])))
    #expect(try filter("has:gps") == .known(.number(.latitude)))
    #expect(try filter("has:taken") == .known(.time(.taken)))
  }

  @Test(
    "What can't be understood is an error that names the part",
    arguments: [
      ("camra:x", "“camra:x”: there is no field “camra”; did you mean “camera”?"),
      ("zz:x", "known fields are “name”"), ("camera:", "“camera:” says nothing after “:”"),
      ("camera>x", "“camera>x” compares a text"), ("iso:much", "“iso:much” needs a number"),
      ("iso:nan", "needs a number"), ("iso:0x10", "needs a number"), ("iso:inf", "needs a number"),
      ("iso>1..2", "mixes a range"), ("taken:2024-13", "“taken:2024-13” needs a date"),
      ("taken:2023-02-29", "needs a date"), ("taken:24", "needs a date"),
      ("is:trased", "did you mean “trashed”?"), ("has:gsp", "did you mean “gps”?"),
      ("kind:pictures", "there is no kind “pictures”"), ("near:91,0,1km", "needs latitude"),
      ("near:1,2", "needs latitude"), ("(a", "“(” without a “)”"), ("a)", "“)” without a “(”"),
      ("()", "nothing within brackets"), ("or a", "Nothing comes before an “or”"),
      ("a or", "ends where a word is missing"), ("-", "ends where a word is missing"),
      ("\"a", "A quote in the query is not closed"), ("***", "at its end only"),
      ("*", "no letter or digit"),
      ("tag:a,,b", "nothing to look for"),
      ("tag:\"\"", "says nothing after"), ("focal_length>50", "there is no field “focal_length”"),
      ("größe:5", "there is no field “größe”"), ("iso!=4", "no comparison “!=”; put “-”"),
      ("iso=>4", "no comparison “=>”"), ("has<gps", "compares what has no order"),
      ("kind=picture", "there is no kind"), ("iso:800..100", "ends before it begins"),
      ("taken:2024-07..2024-05", "ends before it begins"), ("iso:..", "neither where"),
      ("size>1e308TB", "needs a number"), ("near:0,0,1e308km", "needs latitude"),
      ("imported:300000000000y", "needs a date"), ("imported:9223372036854775807h", "needs a date"),
      ("*lake", "“*” at its end only"), ("a)b(", "“)” without a “(”"),
    ])
  func errors(query: String, message: String) throws {
    let error = try #require(throws: QueryError.self) { try filter(query) }
    #expect(error.message.contains(message), "\(error.message)")
  }

  @Test("Neither depth nor length makes it fail otherwise")
  func bounds() throws {
    for query in [
      String(repeating: "(", count: 9000), String(repeating: "-", count: 9000) + "a",
      String(repeating: "a ", count: 40_000),
    ] {
      #expect(throws: QueryError.self) { try filter(query) }
    }
    #expect(try filter(String(repeating: "a ", count: 30_000)) != .everything)
  }

  @Test("A saved search stands for its query, with brackets around it")
  func saved() throws {
    let saved = ["keepers": "rating>=4 or tag:keep", "mine": "@keepers camera:fuji"]
    for (query, meaning) in [
      ("@keepers", "rating>=4 or tag:keep"), ("-@keepers", "-(rating>=4 or tag:keep)"),
      ("@keepers taken:2024", "(rating>=4 or tag:keep) taken:2024"),
      ("@mine", "(rating>=4 or tag:keep) camera:fuji"),
    ] {
      #expect(try Filter(query: query, saved: saved) == filter(meaning), "\(query)")
    }
    #expect(try Filter(query: "\"@keepers\"", saved: saved) == filter("\"@keepers\""))
    #expect(try Filter(query: "name:a@b", saved: saved) == filter("name:a@b"))
  }

  @Test("A saved search that is missing, wrong, circular or endless is an error that says so")
  func savedWrong() {
    var saved = [
      "keepers": "x", "bad": "nme:x", "worse": "@bad", "a": "@b", "b": "@a", "self": "@self",
    ]
    for (query, part) in [
      ("@keeprs", "“keepers”"), ("@", "no saved search"), ("@bad", "@bad: "), ("@worse", "nme"),
      ("@a", "@a uses @b uses @a."), ("@self", "@self uses @self."),
    ] {
      let error = #expect(throws: QueryError.self, "\(query)") {
        try Filter(query: query, saved: saved)
      }
      #expect(error?.message.contains(part) == true, "\(query): \(error?.message ?? "")")
    }
    // Ten that use the next one a hundred times would be 10^20 words.
    for index in 0..<10 {
      saved["n\(index)"] = Array(repeating: "@n\(index + 1)", count: 100).joined(separator: " ")
    }
    saved["n10"] = "x"
    let error = #expect(throws: QueryError.self) { try Filter(query: "@n0", saved: saved) }
    #expect(error?.message.contains("bytes") == true)
  }
}
