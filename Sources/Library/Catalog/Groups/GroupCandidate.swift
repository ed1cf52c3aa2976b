import PipelineModel
import Query

/// What decides about an asset's group.
struct GroupCandidate: Hashable {
  enum Part: Hashable {
    /// A picture as cameras write it beside a raw file or a film: JPEG or HEIC.
    case still
    case raw
    case movie
    case sidecar
    /// Anything else, which only a sidecar may belong to.
    case other
  }

  let id: AssetID
  /// The file's name, without folders, and with its extensions in lower case.
  let name: [UInt8]
  let part: Part
  /// When it was taken, by the clock on the spot, in microseconds since 1970.
  var taken: Int64?
  /// Whether only the day is known, not the time.
  var isTakenOnDay = false
  /// Maker and model, folded.
  var camera: String?
  /// What a Live Photo's picture and film have in common.
  var contentIdentifier: String?

  init(
    id: AssetID, name: String, part: Part, taken: Int64? = nil, camera: String? = nil,
    contentIdentifier: String? = nil
  ) {
    self.id = id
    self.name = NameStem.name(BytePath(name))
    self.part = part
    self.taken = taken
    self.camera = camera
    self.contentIdentifier = contentIdentifier
  }

  /// - Parameter values: an asset's, with metadata.
  /// - Returns: `nil` while nobody knows what the file is.
  init?(_ id: AssetID, name: BytePath, _ values: AssetValues) {
    guard let type = values.texts[.type]?.first else { return nil }
    self.id = id
    self.name = NameStem.name(name)
    part =
      switch (type, values.texts[.kind]?.first) {
      case ("application/rdf+xml", _) where NameStem.isSidecar(name): .sidecar
      case ("image/jpeg", _), ("image/heic", _), ("image/heif", _): .still
      case (_, AssetKind.raw.rawValue): .raw
      case (_, AssetKind.video.rawValue): .movie
      default: .other
      }
    taken = values.times[.taken]
    isTakenOnDay = values.takenText?.count == 10
    camera = values.texts[.camera]?.first.map { TextFolding.fold($0) }
    contentIdentifier = values.contentIdentifier
  }

  /// The name without its last extension.
  var base: ArraySlice<UInt8> { NameStem.withoutExtension(name[...]) ?? name[...] }

  // MARK: - Two files

  /// Whether the names say that two files belong together: `a.cr3` and `a.jpg`, or `a.jpg` and
  /// `a.jpg.raf`.
  func isNamed(like other: GroupCandidate) -> Bool {
    base == other.base || base == other.name[...] || name[...] == other.base
  }

  /// Whether times are known and nearer to each other than a distance in microseconds; `nil` if a time is
  /// not known.
  func isNear(_ other: GroupCandidate, within distance: Int64) -> Bool? {
    guard let taken, let otherTaken = other.taken else { return nil }
    let day: Int64 = 86_400_000_000
    if isTakenOnDay || other.isTakenOnDay {
      func number(_ time: Int64) -> Int64 { time / day - (time % day < 0 ? 1 : 0) }
      return (number(taken) - number(otherTaken)).magnitude <= (distance / day).magnitude
    }
    let (difference, overflow) = taken.subtractingReportingOverflow(otherTaken)
    return !overflow && difference.magnitude <= distance.magnitude
  }

  /// Whether cameras or identifiers say that two files are of different shots.
  func isOther(than other: GroupCandidate) -> Bool {
    if let camera, let otherCamera = other.camera, !camera.contains(otherCamera),
      !otherCamera.contains(camera)
    {
      return true
    }
    if let contentIdentifier, let otherIdentifier = other.contentIdentifier {
      return contentIdentifier != otherIdentifier
    }
    return false
  }

  func hasIdentifier(of other: GroupCandidate) -> Bool {
    contentIdentifier != nil && contentIdentifier == other.contentIdentifier
  }
}
