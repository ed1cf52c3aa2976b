import PipelineModel
import Testing

@testable import Query

/// Which assets a filter finds.
@Suite("Assets that a query finds", .timeLimit(.minutes(1)))
struct FilterEvaluationTests {
  private let fuji = FilterEvaluationTests.asset(
    name: "Caf\u{e9} DSCF0012.JPG",
    identity: [
      "mediaType": "image/jpeg", "width": 6000, "height": 4000,
      "capturedAt": "2024-05-17T23:59:59.5+02:00",
    ],
    metadata: [
      "exif": [
        "Make": "FUJIFILM", "Model": "X-T5", "ISOSpeedRatings": [400, 0], "FNumber": 2.8,
        "ExposureTime": 0.004,
      ],
      "xmp": [
        "dc:subject": ["Harvest", "été"], "dc:title": ["de": "Ernte", "x-default": "Wheat"],
      ],
      "iptc": ["Keywords": ["Harvest", "field"]],
      "gps": ["latitude": 48.137, "longitude": 11.575],
    ])
  private let scan = FilterEvaluationTests.asset(
    name: "cafe\u{301}.cr2",
    identity: ["mediaType": "image/x-canon-cr2", "width": 10, "height": 10], metadata: [:])

  private static func asset(name: String, identity: JSONValue, metadata: JSONValue) -> AssetValues {
    var values = AssetValues()
    values.texts[.name] = [name]
    values.numbers[.size] = 0
    values.add(identity: identity)
    values.add(metadata: metadata)
    return values
  }

  @Test("Words are runs of letters and digits, in ASCII and beyond")
  func words() {
    for (text, words) in [
      ("img_0001.jpg", ["img", "0001", "jpg"]), ("", []), ("--", []), ("a", ["a"]),
      (" a  b\r\n2 ", ["a", "b", "2"]), ("AZ~{@[`/:az09", ["AZ", "az09"]),
      ("\u{e9}t\u{e9}-2 \u{65e5}\u{672c}", ["\u{e9}t\u{e9}", "2", "\u{65e5}\u{672c}"]),
    ] { #expect(TextFolding.words(text).map { String($0) } == words, "\(text)") }
  }

  @Test("The folder of a path is what stands before its last slash, whatever comes behind that")
  func folders() {
    #expect(Grouping.folder(of: "sub/\u{301}lead.txt") == "sub")
    #expect(Grouping.folder(of: "a/\u{301}b/c") == "a/\u{301}b")
    #expect(Grouping.folder(of: "a//b") == "a" && Grouping.folder(of: "b") == nil)
    #expect(Grouping.folder(of: "/b") == nil && Grouping.folder(of: "") == nil)
  }

  @Test(
    "A query finds what it says",
    arguments: [
      ("", true, true), ("camera:fuji", true, false), ("camera:\"fujifilm x\"", true, false),
      ("-camera:fuji", false, true), ("camera=", false, true), ("camera:*", true, false),
      ("camera=\"FUJIFILM X-T5\"", true, false), ("camera=\"fujifilm x-t5\"", false, false),
      ("taken:2024-05", true, false), ("taken:2024-05-17", true, false),
      ("taken>2024-05-17", false, false), ("taken<=2024-05-17", true, false),
      ("-taken:2024", false, true), ("has:taken", true, false), ("tag:HARVEST", true, false),
      ("tag:ETE", true, false), ("tag=été", true, false), ("tag=ete", false, false),
      ("tag:harvest tag:field", true, false), ("title:wheat", true, false),
      ("title:ernte", false, false), ("name:CAFE", true, true), ("name:*.jpg", true, false),
      ("name:caf*.cr?", false, true), ("name=caf\u{e9}.cr2", false, true),
      ("type:raw", false, true), ("kind:image", true, false), ("type:jpeg", true, false),
      ("iso:400", true, false), ("iso>=401", false, false), ("-iso>=401", true, true),
      ("aperture<2.9", true, false), ("exposure:1/250", true, false), ("size:0", true, true),
      ("is:landscape", true, false), ("is:square", false, true), ("is:trashed", false, false),
      ("wheat", true, false), ("whea", false, false), ("whea*", true, false),
      ("dscf0012", true, false), ("cafe fujifilm", true, false), ("wheat or cr2", true, true),
      ("near:48.14,11.58,1km", true, false), ("near:48.14,11.58,10m", false, false),
      ("-near:0,0,1km", true, true), ("type=raw", false, true), ("\"cafe dscf\"", true, false),
      ("\"dscf cafe\"", false, false), ("name:cafe?dscf*", true, false),
    ])
  func finds(query: String, fuji: Bool, scan: Bool) throws {
    let filter = try Filter(query: query)
    #expect(filter.holds(for: self.fuji) == fuji)
    #expect(filter.holds(for: self.scan) == scan)
  }

  @Test("A distance is along the surface, also across the date line and at a pole")
  func distances() {
    func isWithin(_ radius: Double, _ a: (Double, Double), _ b: (Double, Double)) -> Bool {
      Area(latitude: a.0, longitude: a.1, radius: radius).contains(b.0, b.1)
    }
    // A quarter of a great circle is 10,007.557 km on a sphere of this radius.
    #expect(!isWithin(10_007_500, (0, 0), (0, 90)) && isWithin(10_007_600, (0, 0), (0, 90)))
    #expect(
      isWithin(112_000, (0, 179.5), (0, -179.5)) && !isWithin(111_000, (0, 179.5), (0, -179.5)))
    #expect(isWithin(1, (90, 0), (90, 120)))
  }

  @Test("A maker's name is not written twice")
  func cameras() {
    #expect(AssetValues.camera(maker: "Canon", model: "Canon EOS R5") == "Canon EOS R5")
    #expect(AssetValues.camera(maker: "FUJIFILM", model: "X-T5") == "FUJIFILM X-T5")
    #expect(AssetValues.camera(maker: "NIKON CORPORATION", model: "NIKON D850") == "NIKON D850")
    #expect(AssetValues.camera(maker: nil, model: "X") == "X")
    #expect(AssetValues.camera(maker: "Sony", model: nil) == "Sony")
  }

  @Test("A time on the spot is read with fraction and without zone, or as a day alone")
  func wallClocks() {
    #expect(CalendarTime.wallClock("1970-01-02") == 86_400_000_000)
    #expect(CalendarTime.wallClock("1970-01-01T00:00:01Z") == 1_000_000)
    #expect(CalendarTime.wallClock("1970-01-01T00:00:01.25+09:00") == 1_250_000)
    #expect(CalendarTime.wallClock("1970-01-01T00:00:00.1234567") == 123_456)
    #expect(CalendarTime.wallClock("1970-01-01T00:00:60") == 59_000_000)
    for text in ["", "1970", "1970-02-30", "1970-01-01 00:00", "0000-01-01", "yesterday"] {
      #expect(CalendarTime.wallClock(text) == nil, "\(text)")
    }
  }

  @Test("Texts are compared by characters, whatever their forms and what is invisible in them")
  func folding() throws {
    func isFound(_ text: String, by query: String) throws -> Bool {
      var values = AssetValues()
      values.texts[.name] = [text]
      return try Filter(query: query).holds(for: values)
    }
    #expect(try isFound("\u{1112}\u{1161}\u{11ab}.jpg", by: "name:?.jpg"))
    #expect(try isFound("\u{645}\u{6cc}\u{200c}\u{62e}.jpg", by: "name:\u{645}\u{6cc}"))
    #expect(try isFound("STRASSE", by: "name:stra\u{df}e"))
    #expect(try isFound("a\u{ad}b", by: "name:ab"))
    #expect(try isFound("\u{0}", by: "-name:a"))
  }

  @Test("A date alone stays one, and a zone is left out")
  func takenTexts() {
    for (text, shown) in [
      ("2020-05-01", "2020-05-01"), ("2020-05-01T12:00:00", "2020-05-01T12:00:00"),
      ("1500-01-01T12:00:00.25+02:00", "1500-01-01T12:00:00.25"),
      ("2020-05-01T12:00:00Z", "2020-05-01T12:00:00"),
    ] {
      var values = AssetValues()
      values.add(identity: ["capturedAt": .string(text)])
      #expect(values.text(of: .time(.taken)) == shown)
      #expect(Grouping("day")?.keys(of: values) == [String(shown.prefix(10))])
    }
  }

  @Test("Groups are in the order of their numbers or letters")
  func groups() throws {
    let counts: [String?: Int] = ["10": 1, "9": 2, nil: 3, "\u{e9}": 4, "Z": 5]
    let byName = try #require(Grouping("name")).sorted(counts).map(\.key)
    #expect(byName == ["10", "9", "\u{e9}", "Z", nil])
    #expect(
      try #require(Grouping("iso")).sorted(["10": 1, "9": 2, nil: 3]).map(\.count) == [2, 1, 3])
  }
}
