public import Foundation
public import PipelineModel
import Query
import Records

/// An imported file, with what its stages found out.
///
/// A value: it stays as it was read. Its pictures, its bytes and the whole of its metadata are read when
/// they are asked for, from `Library`.
public struct Asset: Hashable, Identifiable, Sendable {
  /// Its UUID, of version 7; assets sort by import.
  public let id: AssetID
  /// The file's name when it was imported; bytes that are not UTF-8 are replaced.
  public let name: String
  /// Its path below the source.
  public let path: String
  /// The folder that it was imported from.
  public let source: String
  /// The SHA-256 of its bytes, in hexadecimal.
  public let digest: String
  /// Bytes.
  public let size: Int
  /// The media type, such as `image/jpeg`; `nil` until it is identified.
  public let type: String?
  /// `image`, `raw`, `video`, `audio`, `document` or `other`.
  public let kind: String?
  /// `ready`, `processing`, `done`, `failed` or `trashed`.
  public let state: String
  /// Maker and model.
  public let camera: String?
  public let lens: String?
  public let title: String?
  public let caption: String?
  /// The keywords in the file, and those that users gave it.
  public let tags: [String]
  /// The albums that it is in.
  public let albums: [String]
  /// Its place among files that belong together: `primary`, `picture`, `raw`, `movie`, `sidecar`, or
  /// `orphan` for a sidecar without a picture; `nil` if it belongs to none.
  public let role: String?
  /// Whether it is the first of the files that belong together, or belongs to none, and stands for the burst
  /// that it is of, if it is of one.
  public let isCover: Bool
  /// When it was taken, by the clock on the spot, as if that showed UTC.
  public let taken: Date?
  public let imported: Date
  /// When the file was last changed before the import.
  public let modified: Date
  /// When it was put into the trash.
  public let trashed: Date?
  /// Pixels, as displayed.
  public let width: Int?
  /// Pixels, as displayed.
  public let height: Int?
  public let iso: Double?
  /// The f-number.
  public let aperture: Double?
  /// Seconds.
  public let exposure: Double?
  /// Millimetres.
  public let focal: Double?
  /// Stars, -1 for rejected; files may have halves.
  public let rating: Double?
  /// Degrees, south negative.
  public let latitude: Double?
  /// Degrees, west negative.
  public let longitude: Double?
  /// The pictures that stages made of it, if the `Fetch` asked for them by `prefetching`; otherwise `nil`.
  public internal(set) var renditions: [Rendition]?

  /// Whether it is in the trash.
  public var isTrashed: Bool { trashed != nil }
  /// Whether one of its jobs failed.
  public var hasFailed: Bool { state == "failed" }

  /// Whether it is the first of the files that belong together, or belongs to none.
  public var isPrimary: Bool { role == nil || role == "primary" || role == "orphan" }

  init(_ id: AssetID, _ values: AssetValues) {
    func text(_ field: TextField) -> String? { values.texts[field]?.first }
    func integer(_ field: NumberField) -> Int? {
      values.numbers[field].flatMap { Int(exactly: $0.rounded()) }
    }
    func date(_ field: TimeField) -> Date? { values.times[field].map { Date(microseconds: $0) } }
    self.id = id
    name = text(.name) ?? ""
    path = text(.path) ?? ""
    source = text(.source) ?? ""
    digest = text(.digest) ?? ""
    size = integer(.size) ?? 0
    type = text(.type)
    kind = text(.kind)
    state = text(.state) ?? "done"
    camera = text(.camera)
    lens = text(.lens)
    title = text(.title)
    caption = text(.caption)
    tags = values.texts[.tag] ?? []
    albums = values.texts[.album] ?? []
    role = text(.role)
    isCover = values.flags.contains(.cover)
    taken = date(.taken)
    imported = date(.imported) ?? Date(timeIntervalSince1970: 0)
    modified = date(.modified) ?? Date(timeIntervalSince1970: 0)
    trashed = date(.trashed)
    width = integer(.width)
    height = integer(.height)
    iso = values.numbers[.iso]
    aperture = values.numbers[.aperture]
    exposure = values.numbers[.exposure]
    focal = values.numbers[.focal]
    rating = values.numbers[.rating]
    latitude = values.numbers[.latitude]
    longitude = values.numbers[.longitude]
  }

  init(_ found: FoundAsset) {
    func integer(_ number: Double?) -> Int? { number.flatMap { Int(exactly: $0.rounded()) } }
    id = found.id
    name = found.name
    path = found.path
    source = found.source
    digest = found.digest.hex
    size = integer(found.size) ?? 0
    type = found.type
    kind = found.kind
    state = found.state
    camera = found.camera
    lens = found.lens
    title = found.title
    caption = found.caption
    tags = found.tags
    albums = found.albums
    role = found.role
    isCover =
      (found.role == nil || found.role == "primary" || found.role == "orphan")
      && (found.cover == nil || found.cover == found.id)
    taken = found.taken.map { Date(microseconds: $0) }
    imported = Date(microseconds: found.imported)
    modified = Date(microseconds: found.modified)
    trashed = found.trashed.map { Date(microseconds: $0) }
    width = integer(found.width)
    height = integer(found.height)
    iso = found.iso
    aperture = found.aperture
    exposure = found.exposure
    focal = found.focal
    rating = found.rating
    latitude = found.latitude
    longitude = found.longitude
    renditions = found.renditions.map { $0.map { Rendition($0) } }
  }

  /// The field that a property has the value of.
  static func field(_ property: AnyKeyPath) -> Field? {
    switch property {
    case \Asset.id: .text(.id)
    case \Asset.name: .text(.name)
    case \Asset.path: .text(.path)
    case \Asset.source: .text(.source)
    case \Asset.digest: .text(.digest)
    case \Asset.size: .number(.size)
    case \Asset.type: .text(.type)
    case \Asset.kind: .text(.kind)
    case \Asset.state: .text(.state)
    case \Asset.camera: .text(.camera)
    case \Asset.lens: .text(.lens)
    case \Asset.title: .text(.title)
    case \Asset.caption: .text(.caption)
    case \Asset.tags: .text(.tag)
    case \Asset.albums: .text(.album)
    case \Asset.role: .text(.role)
    case \Asset.taken: .time(.taken)
    case \Asset.imported: .time(.imported)
    case \Asset.modified: .time(.modified)
    case \Asset.trashed: .time(.trashed)
    case \Asset.width: .number(.width)
    case \Asset.height: .number(.height)
    case \Asset.iso: .number(.iso)
    case \Asset.aperture: .number(.aperture)
    case \Asset.exposure: .number(.exposure)
    case \Asset.focal: .number(.focal)
    case \Asset.rating: .number(.rating)
    case \Asset.latitude: .number(.latitude)
    case \Asset.longitude: .number(.longitude)
    default: nil
    }
  }

  /// The field whose values a property stands for that a program declared, of a type of its own.
  static func fieldOfOwnType(_ property: AnyKeyPath) -> Field? {
    let type = Swift.type(of: property).valueType as? any AssetValueType.Type
    return type?.valueProperty.flatMap { field($0) }
  }

  /// What to call a property that no field has the value of: a key path does not know its name.
  static func name(of property: AnyKeyPath) -> String {
    let type = Swift.type(of: property)
    return "a property of \(type.rootType) that is of type \(type.valueType)"
  }

  /// The condition that a property is true.
  static func flag(_ property: AnyKeyPath) -> Flag? {
    switch property {
    case \Asset.isTrashed: .trashed
    case \Asset.hasFailed: .failed
    case \Asset.isPrimary: .primary
    case \Asset.isCover: .cover
    default: nil
    }
  }
}

extension Date {
  init(microseconds: Int64) {
    // The whole seconds first: a Double of all microseconds would be less exact.
    let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    self.init(timeIntervalSince1970: Double(seconds) + Double(rest) / 1_000_000)
  }

  /// Microseconds since 1970, the nearest to it; the ends stand for what lies beyond.
  var microseconds: Int64 {
    let microseconds = (timeIntervalSince1970 * 1_000_000).rounded()
    return Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max)
  }
}
