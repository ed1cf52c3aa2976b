import Foundation
import PipelineModel
import Testing

@testable import PipelineLibrary
@testable import Query

/// Cameras, as a program might name some of them.
private enum Camera: String, AssetValue, Comparable {
  case fuji = "Fuji"
  case xt5 = "FUJIFILM X-T5"

  static var property: KeyPath<Asset, String?> { \.camera }
  static func < (left: Camera, right: Camera) -> Bool { left.rawValue > right.rawValue }
}

/// An f-number in tenths, which is not how it is stored.
private struct Tenths: AssetValue {
  var count: Int

  static var property: KeyPath<Asset, Double?> { \.aperture }
  init(_ count: Int) { self.count = count }
  init?(stored: Double) { self.init(Int((stored * 10).rounded())) }
  var stored: Double { Double(count) / 10 }
}

extension Asset {
  fileprivate var model: Camera? { value() }
  fileprivate var tenths: Tenths? { value() }
}

/// Predicates of Swift as filters.
@Suite("Predicates", .timeLimit(.minutes(1)))
struct PredicateTests {
  /// Assets with and without each value.
  private static let assets: [(asset: Asset, values: AssetValues)] = {
    let texts: [String?] = [nil, "", "Fuji", "FUJIFILM X-T5", "Caf\u{e9}", "Cafe\u{301}"]
    let numbers: [Double?] = [nil, -1, 0, 3, 4, 6000]
    let times = [nil, "2024-05-17T12:00:00", "1969-12-31", "2025-01-01"]
    return (0..<360).map { number in
      var values = AssetValues()
      let id = AssetID(bytes: [UInt8](repeating: UInt8(number % 256), count: 16))
      values.texts[.name] = [texts[number % 6] ?? "IMG_1.jpg"]
      values.texts[.state] = [["done", "failed", "trashed"][number % 3]]
      if let flag = Flag(rawValue: ["done", "failed", "trashed"][number % 3]) {
        values.flags.insert(flag)
      }
      values.times = [.imported: Int64(number) * 1_000_000]
      if number % 3 == 2 { values.times[.trashed] = 5 }
      values.numbers[.size] = Double(number)
      values.add(identity: [
        "capturedAt": times[number % 4].map { .string($0) } ?? .null,
        "width": numbers[number / 6 % 6].map { .number($0) } ?? .null,
      ])
      values.add(metadata: [
        "exif": [
          "Model": texts[number / 2 % 6].map { .string($0) } ?? .null,
          "FNumber": numbers[number / 3 % 6].map { .number($0) } ?? .null,
        ],
        "xmp": [
          "xmp:Rating": numbers[number / 5 % 6].map { .number($0) } ?? .null,
          "dc:subject": .array(texts.prefix(number % 5).compactMap { $0.map { .string($0) } }),
        ],
      ])
      let role = [nil, "primary", "raw", "orphan"][number / 4 % 4]
      values.add(
        role: role, kinds: role == nil || role == "orphan" ? "" : "rawAndJPEG",
        isCover: [nil, true, false][number / 16 % 3])
      if number % 4 == 1 {
        values.add([Annotation(.album, "Caf\u{e9}"), Annotation(.album, "Fuji")])
      }
      // Sixteen bytes by construction.
      // swift-format-ignore: NeverForceUnwrap
      return (Asset(id!, values), values)
    }
  }()

  private static let may = Date(timeIntervalSince1970: 1_715_904_000)
  private static let some = ["Fuji", "Caf\u{e9}"]
  private static let range = 0.0..<4.0
  private static let none: String? = nil

  /// Each with whether it finds as many as Swift does.
  private static func predicates() -> [Predicate<Asset>] {
    let (may, some, range, none) = (may, some, range, none)
    return [
      #Predicate { $0.camera == "Fuji" }, #Predicate { $0.camera != "Fuji" },
      #Predicate { "Caf\u{e9}" == $0.name }, #Predicate { $0.camera == nil },
      #Predicate { $0.camera != nil }, #Predicate { $0.camera == none },
      #Predicate { ($0.rating ?? 0) >= 3 }, #Predicate { ($0.rating ?? 9) > 3 },
      #Predicate { 3 < ($0.rating ?? 0) }, #Predicate { $0.size >= 100 && $0.size < 200 },
      #Predicate { $0.size == 5 || $0.size <= 2 || !($0.size > 4) },
      #Predicate { $0.isTrashed }, #Predicate { !$0.isTrashed && $0.hasFailed },
      #Predicate { $0.isPrimary }, #Predicate { $0.isCover },
      #Predicate { !$0.isPrimary || $0.role == "primary" },
      #Predicate { $0.isTrashed == false }, #Predicate { $0.name.contains("FUJI") },
      #Predicate { $0.name.starts(with: "IMG") },
      #Predicate { $0.name.localizedStandardContains("CAFE") },
      #Predicate { !$0.name.localizedStandardContains("fuji") },
      #Predicate { $0.camera?.contains("uj") == true },
      #Predicate { $0.camera?.contains("uj") ?? true },
      #Predicate { $0.camera?.localizedStandardContains("fuji") ?? false },
      #Predicate { ($0.camera ?? "Fuji").contains("uj") },
      #Predicate { $0.tags.contains("Fuji") }, #Predicate { $0.tags.isEmpty },
      #Predicate { $0.albums.contains("Cafe\u{301}") && !$0.tags.isEmpty },
      #Predicate { $0.albums.contains { $0.localizedStandardContains("FUJ") } },
      #Predicate { $0.tags.contains { $0 == "Fuji" || $0.localizedStandardContains("cafe") } },
      #Predicate { some.contains($0.name) }, #Predicate { range.contains($0.aperture ?? 9) },
      #Predicate { (0...3).contains($0.rating ?? 3) },
      #Predicate { asset in if let rating = asset.rating { rating > 3 } else { false } },
      #Predicate { asset in if let rating = asset.rating { rating > 3 } else { true } },
      #Predicate { $0.taken.flatMap { $0 > may } ?? false },
      #Predicate { $0.taken.flatMap { $0 <= may } == false },
      #Predicate { $0.imported < may }, #Predicate { $0.trashed == nil },
      #Predicate { $0.imported == may }, #Predicate { _ in true }, #Predicate { _ in false },
      #Predicate { $0.rating == 3 }, #Predicate { $0.rating != 3 },
      #Predicate { $0.width == nil && $0.camera == "Caf\u{e9}" },
    ]
  }

  @Test("A filter finds what Swift says of each asset", arguments: predicates().indices)
  func translation(index: Int) throws {
    let predicate = Self.predicates()[index]
    let filter = try PredicateTranslation.filter(of: predicate)
    for (asset, values) in Self.assets {
      let holds = try predicate.evaluate(asset)
      #expect(filter.holds(for: values) == holds, "\(predicate) as \(filter): \(asset)")
    }
  }

  @Test("A type of a program's own is compared by what is stored, and finds what Swift says")
  func ownTypes() throws {
    let (xt5, tenths) = (Camera.xt5, Tenths(30))
    let models: [Camera?] = [.fuji, .xt5]
    let predicates: [Predicate<Asset>] = [
      #Predicate { $0.model == xt5 }, #Predicate { $0.model != xt5 },
      #Predicate { models.contains($0.model) || $0.tenths == tenths },
      #Predicate { !($0.tenths == tenths) },
    ]
    for predicate in predicates {
      let filter = try PredicateTranslation.filter(of: predicate)
      let found = try Self.assets.filter { try predicate.evaluate($0.asset) }
      #expect(!found.isEmpty && found.count < Self.assets.count, "\(predicate)")
      for (asset, values) in Self.assets {
        #expect(filter.holds(for: values) == (try predicate.evaluate(asset)), "\(predicate)")
      }
    }
    #expect(
      try Fetch().sorted(by: SortDescriptor(\.model)).order == [SortCriterion(.text(.camera))])
  }

  @Test("What a type of a program's own can't tell apart is not asked")
  func ownTypesWithoutValue() throws {
    let fuji = Camera.fuji
    let predicates: [Predicate<Asset>] = [
      #Predicate { $0.model == nil }, #Predicate { ($0.model ?? fuji) == fuji },
      #Predicate { asset in if let model = asset.model { model != fuji } else { false } },
    ]
    for predicate in predicates {
      let error = #expect(throws: LibraryError.self) { _ = try Fetch(predicate) }
      #expect(error?.code == .notAQuestion)
    }
  }

  @Test("A value that is not there meets neither a condition nor its contrary, and nothing traps")
  func forcedUnwrap() throws {
    // swift-format-ignore: NeverForceUnwrap
    let predicates: [(Predicate<Asset>, @Sendable (Double) -> Bool)] = [
      (#Predicate { $0.rating! > 3 }, { $0 > 3 }), (#Predicate { !($0.rating! > 3) }, { $0 <= 3 }),
      (#Predicate { $0.rating! != 3 }, { $0 != 3 }),
      (#Predicate { !($0.rating! != 3) }, { $0 == 3 }),
    ]
    for (predicate, holds) in predicates {
      let filter = try PredicateTranslation.filter(of: predicate)
      for (asset, values) in Self.assets {
        #expect(filter.holds(for: values) == asset.rating.map(holds) ?? false, "\(predicate)")
      }
    }
  }

  @Test("localizedStandardContains leaves out case and accents")
  func localized() throws {
    let asset = Self.assets[4].asset
    #expect(asset.name == "Caf\u{e9}")
    for (text, isFound) in [
      ("CAFE", true), ("cafe\u{301}", true), ("f\u{c8}", true), ("", true), ("coffee", false),
    ] {
      let predicate = #Predicate<Asset> { $0.name.localizedStandardContains(text) }
      #expect(try predicate.evaluate(asset) == isFound, "\(text)")
    }
  }

  @Test("What can't be translated is an error that names the part")
  func errors() throws {
    let predicates: [(Predicate<Asset>, String)] = [
      (#Predicate { $0.size * 2 > 10 }, "Arithmetic"),
      (#Predicate { $0.name < "b" }, "Comparison"),
      (#Predicate { $0.name == $0.path }, "Equal"),
      (#Predicate { $0.tags.count > 2 }, "a property of Array<String> that is of type Int"),
      (#Predicate { $0.name.isEmpty }, "a property of String that is of type Bool"),
      (#Predicate { $0.tags.contains { $0 != "a" } }, "SequenceContainsWhere"),
      (#Predicate { $0.tags.allSatisfy { $0 == "a" } }, "SequenceAllSatisfy"),
      (#Predicate { ($0.isTrashed ? 1 : 2) == 1 }, "Conditional"),
    ]
    for (predicate, part) in predicates {
      let error = #expect(throws: LibraryError.self) { _ = try Fetch(predicate) }
      #expect(error?.code == .notAQuestion)
      #expect(error?.message.contains(part) == true, "\(error?.message ?? "") names \(part)")
      #expect(error?.message.contains("Foundation") == false, "\(error?.message ?? "")")
    }
    let unsortable = #expect(throws: LibraryError.self) {
      _ = try Fetch().sorted(by: SortDescriptor(\.name.count))
    }
    #expect(unsortable?.message.contains("a property of Asset that is of type Int") == true)
    let query = #expect(throws: LibraryError.self) { _ = try Fetch(query: "camra:fuji") }
    #expect(query?.message.contains("camera") == true)
  }

  @Test("Predicates and words are joined")
  func joining() throws {
    let fetch = try Fetch(#Predicate { $0.size > 1 }).matching(query: "camera:fuji")
      .matching(#Predicate { !$0.isTrashed })
    let assets = Self.assets.filter { fetch.filter.holds(for: $0.values) }
    let expected = Self.assets.filter {
      $0.asset.size > 1 && $0.asset.camera?.lowercased().contains("fuji") == true
        && !$0.asset.isTrashed
    }
    #expect(!expected.isEmpty && assets.map(\.asset) == expected.map(\.asset))
  }
}
