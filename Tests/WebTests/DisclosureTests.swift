import Configuration
import Hashing
import LibrarySession
import PipelineModel
import Query
import Records
import Testing

@testable import Catalog
@testable import Web

/// What the pages show of a library, and what they keep to themselves.
@Suite("Disclosure", .timeLimit(.minutes(1)))
struct DisclosureTests {
  private func rendition(
    _ name: String, _ side: Int, stage: String = "thumbnails", type: String = "image/jpeg"
  ) -> RenditionRecord {
    RenditionRecord(
      id: 1, stage: stage, name: name, mediaType: type, width: side, height: side / 2, bytes: 1,
      digest: SHA256.digest(of: []), from: "image", path: nil, isStale: false)
  }

  private func disclosure(
    _ options: JSONValue = [:], hides: Bool = false
  ) -> Disclosure {
    var stage = StageConfiguration(name: "thumbnails", plugin: "thumbnail")
    stage.options = options
    return Disclosure(ConfiguredRenditions([stage]), hidden: hides ? [.gps] : [])
  }

  private static let sizes: JSONValue = [
    "sizes": [
      ["name": "film", "maxPixelSize": 300, "animated": true],
      ["name": "gray", "maxPixelSize": 200, "tones": "gray"],
      ["name": "grid", "maxPixelSize": 100],
    ]
  ]

  private func names(
    _ disclosure: Disclosure, _ all: [RenditionRecord], orientation: Int? = 1
  ) -> [String] {
    disclosure.shown(all, orientation: orientation).map(\.name)
  }

  @Test("Pictures stand for an asset, the smallest first, and not what was made of them")
  func shown() {
    let made = [
      rendition("film", 300), rendition("gray", 200), rendition("grid", 100),
      rendition("program", 50, stage: "other"), rendition("page", 10, type: "application/pdf"),
    ]
    #expect(names(disclosure(Self.sizes), made) == ["program", "grid"])
    #expect(names(disclosure(["transform": false]), made, orientation: 6) == ["program"])
  }

  @Test("An animation stands for it only where there is nothing else")
  func animation() {
    #expect(
      names(disclosure(Self.sizes), [rendition("film", 9), rendition("gray", 8)]) == ["film"])
    #expect(names(disclosure(Self.sizes), [rendition("gray", 8)]) == [])
  }

  @Test("What may tell a place is not handed out where places are hidden")
  func bytes() {
    let made = [rendition("grid", 100), rendition("program", 50, stage: "other")]
    #expect(names(disclosure(hides: true), made) == ["grid"])
    #expect(names(disclosure(["strip": false], hides: true), made) == [])
    #expect(names(disclosure(["strip": false]), made) == ["program", "grid"])
    #expect(disclosure().hasOriginals && !disclosure(hides: true).hasOriginals)
    #expect(throws: HTTPError.self) { try disclosure(hides: true).requireOriginals() }
    var stale = rendition("grid", 100)
    stale.isStale = true
    #expect(
      names(disclosure(hides: true), [stale]) == [] && names(disclosure(), [stale]) == ["grid"])
  }

  @Test("Facts that tell a place are left out, wherever they are")
  func facts() {
    let facts: JSONValue = [
      "metadata": [
        "gps": ["latitude": 48.1, "altitude": 500], "exif": ["Model": "M", "GPSTag": 1],
        "xmp": ["exif:GPSLatitude": "48,0.0N", "xmp:Rating": 5],
      ],
      "identify": ["location": ["latitude": 48.1], "width": 3],
      "program": [["places": [["Longitude": 11.5, "name": "home", "lat": 48.1, "lon": 11.5]]]],
    ]
    let rest: JSONValue = [
      "metadata": ["exif": ["Model": "M"], "xmp": ["xmp:Rating": 5]], "identify": ["width": 3],
      "program": [["places": [["name": "home"]]]],
    ]
    #expect(disclosure(hides: true).facts(facts) == rest)
    #expect(disclosure().facts(facts) == facts)
  }

  @Test(
    "No search tells a place where places are hidden",
    arguments: [
      "near:48.1,11.5,1km", "latitude>48", "-longitude:11..12", "(tag:a or has:gps)",
      "has:latitude", "-(near:1,1,5km kind:image)",
    ])
  func searches(query: String) throws {
    let filter = try Filter(query: query)
    try disclosure().check(filter)
    #expect(throws: QueryError.self) { try disclosure(hides: true).check(filter) }
  }

  @Test("Saved searches for places are not told where places are hidden")
  func saved() {
    let saved = ["home": "near:48.1,11.5,1km", "work": "@home kind:image", "best": "rating>4"]
    for (name, query) in saved {
      #expect(disclosure(hides: true).allows(query, saved) == (name == "best"))
      #expect(disclosure().allows(query, saved))
    }
  }

  @Test("No order tells a place, and fields that are hidden are not proposed")
  func orders() throws {
    let order = try SortCriterion.all(in: "-taken,latitude")
    try disclosure().check(order)
    #expect(throws: QueryError.self) { try disclosure(hides: true).check(order) }
    try disclosure(hides: true).check(SortCriterion.all(in: "-taken,name"))
    try disclosure(hides: true).check(Filter(query: "camera:x taken:2024 iso>100 gps"))
    let names = Set(disclosure(hides: true).fields.map(\.name))
    #expect(!names.contains("latitude") && !names.contains("longitude") && names.contains("iso"))
    #expect(disclosure().fields.count == names.count + 2)
  }
}
