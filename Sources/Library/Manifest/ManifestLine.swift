import FoundationEssentials
import Hashing
import PipelineModel

/// A fact as a line of JSON that ends in a checksum of everything before it.
///
/// `{"fact":…,"seq":…,…,"check":"<16 digits>"}`: the check is the start of the SHA-256 of the
/// line's bytes before `,"check"`.
struct ManifestLine {
  var fact: String
  var seq: Int64
  var time: Int64
  /// The sequence number of the first fact appended with this one; `nil` if this is the first.
  var batch: Int64?
  /// The sequence number of the last fact of its transaction; `nil` if it counts by itself.
  var until: Int64?
  /// All current kinds of fact have it; later ones may not.
  var taking: AssetID?
  var source: String?
  var sourceBase64: Data?
  var path: String?
  var pathBase64: Data?
  var inode: UInt64?
  var size: Int?
  var modified: Int64?
  var changed: Int64?
  var permissions: UInt32?
  var moves: Bool?
  var run: AssetID?
  var asset: AssetID?
  var digest: Digest?
  var supersedes: AssetID?
  var action: String?
  var reason: String?
  var property: String?
  var text: String?
}

extension ManifestLine {
  init(_ entry: ManifestEntry) {
    seq = entry.sequence
    time = entry.time.microseconds
    taking = entry.fact.taking
    switch entry.fact {
    case .intent(let intent):
      fact = "intent"
      set(intent)
    case .stored(let stored):
      fact = "stored"
      set(stored.intent)
      asset = stored.asset
      digest = stored.digest
      supersedes = stored.supersedes
    case .duplicate(let duplicate):
      fact = "duplicate"
      set(duplicate.intent)
      asset = duplicate.asset
      digest = duplicate.digest
      action = duplicate.action.rawValue
    case .abandoned(_, let text):
      fact = "abandoned"
      reason = text
    case .trashed(let id):
      fact = "trashed"
      asset = id
    case .restored(let id):
      fact = "restored"
      asset = id
    case .purged(let id, let bytes):
      fact = "purged"
      asset = id
      digest = bytes
    case .annotated(let id, let annotation):
      fact = "annotated"
      asset = id
      action = annotation.applies ? Self.adds : Self.removes
      property = annotation.property.rawValue
      text = annotation.text
    case .retried(let id):
      fact = "retried"
      asset = id
    case .returning(let back):
      fact = "returning"
      set(back)
    case .returned(let back):
      fact = "returned"
      set(back)
    }
  }

  /// The actions of an annotation.
  private static let (adds, removes) = ("add", "remove")

  private mutating func set(_ back: ManifestFact.Return) {
    set(back.place)
    asset = back.asset
    digest = back.digest
    action = back.action.rawValue
  }

  private mutating func set(_ intent: ManifestFact.Intent) {
    source = intent.source.description
    sourceBase64 = intent.source.utf8 == nil ? Data(intent.source.bytes) : nil
    path = intent.path.description
    pathBase64 = intent.path.utf8 == nil ? Data(intent.path.bytes) : nil
    inode = intent.identity.inode
    size = intent.identity.size
    modified = intent.identity.modified
    changed = intent.identity.changed
    permissions = intent.permissions
    moves = intent.moves
    run = intent.run
  }

  /// The entry; `nil` if its kind of fact is unknown or lacks a member.
  var entry: ManifestEntry? {
    let value: ManifestFact? =
      switch fact {
      case "intent": intent.map { .intent($0) }
      case "stored":
        if let intent, let asset, let digest {
          .stored(.init(asset: asset, digest: digest, intent: intent, supersedes: supersedes))
        } else {
          nil
        }
      case "duplicate":
        if let intent, let asset, let digest,
          let action = action.flatMap(ManifestFact.Duplicate.Action.init)
        {
          .duplicate(.init(asset: asset, digest: digest, action: action, intent: intent))
        } else {
          nil
        }
      case "abandoned": taking.map { .abandoned(taking: $0, reason: reason ?? "") }
      case "trashed": asset.map { .trashed(asset: $0) }
      case "restored": asset.map { .restored(asset: $0) }
      case "purged":
        if let asset, let digest { .purged(asset: asset, digest: digest) } else { nil }
      case "annotated":
        if let asset, let annotation { .annotated(asset: asset, annotation) } else { nil }
      case "retried": asset.map { .retried(asset: $0) }
      case "returning": back.map { .returning($0) }
      case "returned": back.map { .returned($0) }
      default: nil
      }
    return value.map {
      ManifestEntry(sequence: seq, time: Timestamp(microseconds: time), fact: $0)
    }
  }

  private var annotation: Annotation? {
    guard let property = property.flatMap(Annotation.Property.init),
      let action, [Self.adds, Self.removes].contains(action)
    else { return nil }
    return Annotation(property, text ?? "", applies: action == Self.adds)
  }

  private var back: ManifestFact.Return? {
    guard let intent, let asset, let digest,
      let action = action.flatMap(ManifestFact.Return.Action.init)
    else { return nil }
    return ManifestFact.Return(asset: asset, digest: digest, action: action, place: intent)
  }

  private var intent: ManifestFact.Intent? {
    guard let source = Self.path(source, sourceBase64), let path = Self.path(path, pathBase64),
      let taking, let inode, let size, let modified, let changed, let permissions, let moves
    else { return nil }
    return ManifestFact.Intent(
      taking: taking, source: source, path: path,
      identity: FileIdentity(inode: inode, size: size, modified: modified, changed: changed),
      permissions: permissions, moves: moves, run: run)
  }

  private static func path(_ text: String?, _ raw: Data?) -> BytePath? {
    if let raw { return BytePath(bytes: raw) }
    return text.map { BytePath($0) }
  }
}

extension ManifestLine {
  static let checkLength = 16
  static let checkPrefix = Array(",\"check\":\"".utf8)
  static let checkSuffix = Array("\"}".utf8)

  /// Encodes the line with its checksum and a newline.
  func encode() -> [UInt8] {
    var bytes = members.bytes
    let check = SHA256.digest(of: bytes).hex.prefix(Self.checkLength)
    bytes += Self.checkPrefix
    bytes += check.utf8
    bytes += Self.checkSuffix
    bytes.append(UInt8(ascii: "\n"))
    return bytes
  }

  /// The members in the order of their names, without the checksum.
  private var members: JSONObjectText {
    var line = JSONObjectText()
    line.add("action", action)
    line.add("asset", asset?.description)
    line.add("batch", batch)
    line.add("changed", changed)
    line.add("digest", digest?.hex)
    line.add("fact", fact)
    line.add("inode", inode)
    line.add("modified", modified)
    line.add("moves", moves)
    line.add("path", path)
    line.add("pathBase64", pathBase64?.base64EncodedString())
    line.add("permissions", permissions)
    line.add("property", property)
    line.add("reason", reason)
    line.add("run", run?.description)
    line.add("seq", seq)
    line.add("size", size)
    line.add("source", source)
    line.add("sourceBase64", sourceBase64?.base64EncodedString())
    line.add("supersedes", supersedes?.description)
    line.add("taking", taking?.description)
    line.add("text", text)
    line.add("time", time)
    line.add("until", until)
    return line
  }
}
