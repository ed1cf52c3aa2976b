import Catalog
package import Ingest
package import PipelineModel
package import Records

/// Everything known about one asset, as `show` says it.
package struct WholeAsset {
  package let asset: AssetRecord
  /// What `verify` found, and nothing changed since.
  package let damage: [DamageList.Entry]
  package let sightings: [Sighting]
  package let jobs: [JobRecord]
  package let group: [GroupCompanion]
  package let burst: [BurstShot]

  package init(_ asset: AssetRecord, in library: ReadableLibrary) throws {
    self.asset = asset
    damage = try library.damage(of: asset)
    let catalog = library.catalog
    sightings = try catalog.sightings(of: asset.id)
    jobs = try catalog.jobs(of: asset.id)
    group = try catalog.group(of: asset.id)
    burst = try catalog.burst(of: asset.id)
  }

  /// What the stages found out, by stage.
  package var facts: [String: JSONValue] {
    Dictionary(
      jobs.compactMap { job in job.facts.map { (job.stage, $0) } }, uniquingKeysWith: { $1 })
  }

  /// The members of `show`'s event `asset`.
  package var members: [String: JSONValue] {
    var members = JSONMembers.asset(asset, damage: damage)
    members["sightings"] = .array(sightings.map { .object(JSONMembers.sighting($0)) })
    members["jobs"] = .array(jobs.map { .object(JSONMembers.job($0)) })
    members["facts"] = .object(facts)
    if asset.group != nil, case .object(var place) = members["group"] ?? .null {
      place["members"] = .array(group.map { .object(JSONMembers.companion($0)) })
      members["group"] = .object(place)
    }
    if case .object(var place) = members["burst"] ?? .null {
      place["frames"] = .array(burst.map { .object(JSONMembers.frame($0)) })
      members["burst"] = .object(place)
    }
    return members
  }
}
