import FoundationEssentials
package import Ingest
package import PipelineModel
package import Records

/// Records as JSON members; `docs/format.md` fixes the names.
package enum JSONMembers {
  /// A path, with its bytes in Base64 as a second member if it is not UTF-8.
  package static func path(_ path: BytePath, key: String = "path") -> [String: JSONValue] {
    var members: [String: JSONValue] = [key: .string(path.description)]
    if path.utf8 == nil {
      members["\(key)Base64"] = .string(Data(path.bytes).base64EncodedString())
    }
    return members
  }

  package static func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }

  package static func number(_ value: Int?) -> JSONValue { value.map { .integer($0) } ?? .null }

  package static func time(_ value: Timestamp?) -> JSONValue { text(value?.rfc3339) }

  /// - Parameter damage: what `verify` found, and nothing changed since.
  package static func asset(
    _ asset: AssetRecord, damage: [DamageList.Entry]
  ) -> [String: JSONValue] {
    let facts = asset.identity
    var members: [String: JSONValue] = [
      "id": .string(asset.id.description),
      "digest": .string(asset.digest.hex),
      "size": .integer(asset.size),
      "mediaType": text(facts?["mediaType"]?.string),
      "width": number(facts?["width"]?.integer),
      "height": number(facts?["height"]?.integer),
      "orientation": number(facts?["orientation"]?.integer),
      "importedAt": time(asset.importedAt),
      "capturedAt": text(facts?["capturedAt"]?.string),
      "capturedFrom": text(facts?["capturedFrom"]?.string),
      "modifiedAt": time(Timestamp(microseconds: asset.modified / 1000)),
      "supersedes": text(asset.supersedes?.description),
      "state": .string(asset.state.rawValue),
      "annotations": .array(asset.annotations.map { .object(annotation($0)) }),
      "renditions": .array(asset.renditions.map { .object(rendition($0)) }),
      "group": asset.group.map { .object(group($0)) } ?? .null,
      "burst": asset.cover.map { ["cover": .string($0.description)] } ?? .null,
      "damage": .array(damage.map { .object(self.damage($0, of: asset)) }),
      "withoutThumbnail": asset.withoutThumbnail.map { .object(gap($0)) } ?? .null,
    ]
    if let trashedAt = asset.trashedAt { members["trashedAt"] = time(trashedAt) }
    members.merge(path(asset.name, key: "name")) { $1 }
    members.merge(path(asset.source, key: "source")) { $1 }
    members.merge(path(asset.path)) { $1 }
    return members
  }

  private static func gap(_ gap: ThumbnailGap) -> [String: JSONValue] {
    [
      "cause": .string(gap.cause.rawValue),
      "reason": .string(gap.reason),
      "stage": .string(gap.stage),
    ]
  }

  private static func group(_ group: GroupMember) -> [String: JSONValue] {
    [
      "kinds": .array(group.kinds.map { .string($0.rawValue) }),
      "primary": .string(group.leader.description),
      "role": .string(group.role.rawValue),
    ]
  }

  /// A member of a group, as `show` lists it.
  package static func companion(_ companion: GroupCompanion) -> [String: JSONValue] {
    let members: [String: JSONValue] = [
      "asset": .string(companion.id.description), "role": .string(companion.role.rawValue),
    ]
    return members.merging(path(companion.name, key: "name")) { $1 }
  }

  /// A shot of a burst, as `show` lists it.
  package static func frame(_ frame: BurstShot) -> [String: JSONValue] {
    ["asset": .string(frame.id.description)].merging(path(frame.name, key: "name")) { $1 }
  }

  private static func annotation(_ annotation: Annotation) -> [String: JSONValue] {
    [
      "property": .string(annotation.property.rawValue),
      "text": .string(annotation.text),
      "applies": .bool(annotation.applies),
    ]
  }

  private static func damage(
    _ entry: DamageList.Entry, of asset: AssetRecord
  ) -> [String: JSONValue] {
    let rendition = asset.renditions.first { $0.id == entry.rendition }
    return [
      "kind": .string(entry.kind.rawValue),
      "message": .string(entry.message),
      "foundAt": time(entry.foundAt),
      "rendition": text(rendition.map { "\($0.stage)/\($0.name)" }),
    ]
  }

  private static func rendition(_ rendition: RenditionRecord) -> [String: JSONValue] {
    [
      "name": .string(rendition.name),
      "stage": .string(rendition.stage),
      "mediaType": .string(rendition.mediaType),
      "width": .integer(rendition.width),
      "height": .integer(rendition.height),
      "bytes": .integer(rendition.bytes),
      "digest": .string(rendition.digest.hex),
      "from": text(rendition.from),
      "storage": .string(rendition.path == nil ? "database" : "file"),
      "stale": .bool(rendition.isStale),
    ]
  }

  package static func sighting(_ sighting: Sighting) -> [String: JSONValue] {
    var members: [String: JSONValue] = [
      "state": .string(sighting.state.rawValue),
      "asset": text(sighting.asset?.description),
      "reason": text(sighting.reason),
      "seenAt": time(sighting.seenAt),
    ]
    members.merge(path(sighting.source.appending(sighting.path))) { $1 }
    return members
  }

  /// The members that `explain` prints for a path.
  package static func explanation(
    _ explanation: PathExplanation, of path: BytePath
  ) -> [String: JSONValue] {
    var members: [String: JSONValue] = [
      "state": .string(explanation.state),
      "reason": text(explanation.reason),
      "next": .string(explanation.next),
      "asset": text(explanation.asset?.description),
      "seenAt": time(explanation.seenAt),
      "changed": .bool(explanation.hasChanged),
    ]
    if let left = explanation.settlesIn {
      members["settlesInSeconds"] = .number(PathExplanation.seconds(left))
    }
    members.merge(Self.path(path)) { $1 }
    return members
  }

  package static func job(_ job: JobRecord) -> [String: JSONValue] {
    [
      "stage": .string(job.stage),
      "state": .string(job.state.rawValue),
      "attempts": .integer(job.attempts),
      "class": text(job.failureClass),
      "reason": text(job.reason),
      "seconds": job.seconds.map { .number($0) } ?? .null,
      "finishedAt": time(job.finishedAt),
      "notBefore": time(job.notBefore),
    ]
  }
}
