import Fixtures
import PipelineModel
import Records

@testable import Catalog

/// A catalog of assets in all states, with whatever names and facts files may have.
struct DescribedLibrary {
  let library: Library

  static let names: [[UInt8]] =
    [
      "Caf\u{e9}.jpg", "Cafe\u{301}.JPG", "IMG_0001.JPG", "\u{c9}T\u{c9} *[x]?.jpg", "a b-c", "a",
      "Stra\u{df}e STRASSE", "日本 海.png", "\u{FB01}le.tif", "\u{130}stanbul ı", "x\u{200B}y",
      "\u{1112}\u{1161}\u{11AB} 한.gif", "e\u{301}\u{327} e\u{327}\u{301}", "🏔️ 1.heic",
      "-dash- 'q\"", "a.jpg", "a.CR2", "a.xmp", "a.jpg.xmp",
    ].map { Array($0.utf8) } + [Array("b\u{e9}".utf8) + [0xFF, 0xC3], [0x80]]
  static var texts: [String] {
    let hasNull = TestedDatabase.current == .sqlite && !TestedDatabase.isCompared
    // PostgreSQL has no U+0000 in texts; `ComparisonTests` has what becomes of it.
    return commonTexts + [hasNull ? "nul\0nul" : "nul\u{FFFD}nul"]
  }
  private static let commonTexts = [
    "Fuji", "FUJIFILM", "X-T5", "NIKON CORPORATION", "NIKON D850", "e\u{301}te\u{301}",
    "\u{e9}t\u{e9}",
    "ete", "\u{391}\u{3A3} \u{3B1}\u{3C2}", "harvest", "Harvest Moon", "a*b", "[a]", "?", " ", "",
    "日本",
  ]
  static let types = [
    "image/jpeg", "image/x-canon-cr2", "video/mp4", "application/pdf", "audio/mpeg", "nothing",
    "application/rdf+xml",
  ]
  static let times = [
    "2024-05-17T23:59:59.5+02:00", "2024-05-17", "1969-12-31T23:59:59Z", "2016-12-31T23:59:60Z",
    "2024-02-30", "0001-01-01T00:00:00", "2024-05-17T00:00:00.000001",
  ]
  static let numbers: [Double] = [-1, 0, 0.5, 1, 2.8, 100, 400, 6000, 1e9, -0.004, 5e-300]
  static let places: [(Double, Double)] = [
    (48.137, 11.575), (-33.9, 18.4), (90, 0), (-90, -180), (0, 180), (0, -179.9), (95, 400), (0, 0),
  ]

  init(_ count: Int, using random: inout SeededRandom) throws {
    library = try Library()
    let stages = [
      Samples.stage("identify", fingerprint: 1),
      Samples.stage("metadata", fingerprint: 2, needs: ["identify"]),
      Samples.stage("thumbnails", plugin: "thumbnail", fingerprint: 3, needs: ["identify"]),
    ]
    try library.catalog.configure(stages)
    // Every tenth has the bytes of another asset.
    try library.add(
      (1...count).map { Self.asset($0, digest: $0 % 10 == 0 ? $0 - 1 : $0, using: &random) })
    for (stage, part) in [("identify", 8), ("metadata", 8), ("thumbnails", 6)] {
      let jobs = try library.catalog.claim(stage: stage, limit: count * part / 10, suspects: false)
      // The rest stays with the process, as if it were running.
      _ = try library.catalog.complete(
        jobs.dropLast(count / 20).map { Self.completion(of: $0, using: &random) })
    }
    try Self.annotate(library, count, using: &random)
    for number in 1...count where number % 9 == 0 {
      try library.catalog.apply(
        [.trashed(Samples.id(number), at: Samples.start.adding(seconds: Double(number)))],
        manifestPosition: 0)
    }
  }

  /// What a user says about each third asset, some of it twice or taken back.
  private static func annotate(
    _ library: Library, _ count: Int, using random: inout SeededRandom
  ) throws {
    let texts = texts.filter { !$0.isEmpty && !$0.hasPrefix("nul") }
    for number in stride(from: 1, through: count, by: 3) {
      let changes = (0..<Int.random(in: 1...6, using: &random)).map { _ in
        let property = Annotation.Property.allCases.randomElement(using: &random) ?? .tag
        let applies = Bool.random(using: &random) || Bool.random(using: &random)
        let text =
          property == .rating
          ? "\(Int.random(in: -1...5, using: &random))"
          : texts.randomElement(using: &random) ?? "a"
        return CatalogChange.annotated(
          Samples.id(number),
          Annotation(property, applies || property.isList ? text : "", applies: applies))
      }
      try library.catalog.apply(changes, manifestPosition: 0)
    }
  }

  private static func asset(
    _ number: Int, digest: Int, using random: inout SeededRandom
  ) -> NewAsset {
    let name = names.randomElement(using: &random).map { BytePath(bytes: $0) } ?? "a"
    let folder = ["", "2024/", "\u{c9}te\u{301}/b/"].randomElement(using: &random) ?? ""
    var asset = Samples.asset(number, digest: digest)
    asset.name = name
    asset.source = [Samples.source, "/k\u{e4}rt"].randomElement(using: &random) ?? Samples.source
    asset.path = BytePath(bytes: Array(folder.utf8) + name.bytes)
    asset.modified = [0, -1, 1_600_000_000_000_000_001].randomElement(using: &random) ?? 0
    return asset
  }

  private static func completion(
    of job: ClaimedJob, using random: inout SeededRandom
  ) -> Completion {
    let outcome: Completion.Outcome =
      switch (job.stage, Int.random(in: 0..<12, using: &random)) {
      case (_, 0): .failed(class: "permanent", reason: "Why.", retryAt: nil)
      case (_, 1): .failed(class: "transient", reason: "Why.", retryAt: .now)
      case (_, 2): .skipped(reason: "Why.")
      case ("identify", _): .done(facts: identity(using: &random), renditions: [])
      case ("metadata", _): .done(facts: metadata(using: &random), renditions: [])
      case (_, let number):
        .done(facts: [:], renditions: [rendition(from: number < 5 ? "damaged" : "image")])
      }
    return Completion(token: job.token, outcome: outcome, seconds: 1)
  }

  private static func rendition(from: String) -> NewRendition {
    var rendition = Samples.rendition("grid")
    rendition.from = from
    return rendition
  }

  private static func identity(using random: inout SeededRandom) -> JSONValue {
    object(
      [
        ("mediaType", types.randomElement(using: &random).map { .string($0) }),
        ("width", number(using: &random)), ("height", number(using: &random)),
        ("capturedAt", times.randomElement(using: &random).map { .string($0) }),
      ], using: &random)
  }

  private static func metadata(using random: inout SeededRandom) -> JSONValue {
    let place = places.randomElement(using: &random) ?? (0, 0)
    let tags = (0..<Int.random(in: 0..<4, using: &random)).map { _ in text(using: &random) ?? .null
    }
    return object(
      [
        (
          "exif",
          object(
            [
              ("Make", text(using: &random)), ("Model", text(using: &random)),
              ("LensModel", text(using: &random)), ("ISOSpeedRatings", number(using: &random)),
              ("FNumber", number(using: &random)), ("ExposureTime", number(using: &random)),
              ("FocalLength", number(using: &random)),
            ], using: &random)
        ),
        (
          "xmp",
          object(
            [
              ("dc:title", text(using: &random)), ("dc:description", text(using: &random)),
              ("dc:subject", .array(tags)), ("xmp:Rating", number(using: &random)),
            ], using: &random)
        ),
        ("gps", ["latitude": .number(place.0), "longitude": .number(place.1)]),
      ], using: &random)
  }

  private static func text(using random: inout SeededRandom) -> JSONValue? {
    texts.randomElement(using: &random).map { .string($0) }
  }

  private static func number(using random: inout SeededRandom) -> JSONValue? {
    numbers.randomElement(using: &random).map { .number($0) }
  }

  /// An object in which one member in four is missing.
  private static func object(
    _ members: [(String, JSONValue?)], using random: inout SeededRandom
  ) -> JSONValue {
    var kept: [String: JSONValue] = [:]
    for (key, value) in members where Int.random(in: 0..<4, using: &random) > 0 {
      kept[key] = value ?? .null
    }
    return .object(kept)
  }
}
