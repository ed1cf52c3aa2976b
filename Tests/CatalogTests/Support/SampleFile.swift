import PipelineModel
import Records

@testable import Catalog

/// A file, and what the stages find out about it.
struct SampleFile: Sendable {
  var number: Int
  var name: String
  var folder = "d/"
  var source = Samples.source
  var type: String
  var taken: String?
  var camera: String?
  var metadata: [String: JSONValue] = [:]

  var asset: NewAsset {
    var asset = Samples.asset(number)
    asset.name = BytePath(name)
    asset.path = BytePath(folder + name)
    asset.source = source
    return asset
  }

  var identity: JSONValue {
    var facts: [String: JSONValue] = ["mediaType": .string(type)]
    facts["capturedAt"] = taken.map { .string($0) }
    return .object(facts)
  }

  var facts: JSONValue {
    var facts = metadata
    facts["exif"] = camera.map { ["Model": .string($0)] }
    return .object(facts)
  }

  /// The stages that find it out.
  static let stages = [
    Samples.stage("identify", fingerprint: 1),
    Samples.stage("metadata", fingerprint: 2, needs: ["identify"]),
  ]
}

extension Library {
  /// A library with the stages of sample files.
  static func ofFiles() throws -> Library {
    let library = try Library()
    try library.catalog.configure(SampleFile.stages)
    return library
  }

  /// Imports files and runs a stage, or both, on all that is due.
  func take(_ files: [SampleFile], stages: [String] = ["identify", "metadata"]) throws {
    try add(files.map(\.asset))
    for stage in stages { try run(stage, files) }
  }

  /// Drops what versions 12 and 14 added.
  func dropBursts() throws {
    try execute("ALTER TABLE sighting DROP COLUMN run")
    for drop in ["TABLE frame", "TABLE sign", "INDEX member_link"] { try execute("DROP \(drop)") }
    for column in ["own_kinds", "own_leader", "link"] {
      try execute("ALTER TABLE member DROP COLUMN \(column)")
    }
  }

  func run(_ stage: String, _ files: [SampleFile], among limit: Int = 10_000) throws {
    let known = Dictionary(files.map { ($0.asset.id, $0) }, uniquingKeysWith: { $1 })
    let jobs = try catalog.claim(stage: stage, limit: limit, suspects: false)
    _ = try catalog.complete(
      jobs.map { job in
        let file = known[job.asset]
        let facts = stage == "identify" ? file?.identity : file?.facts
        return Completion(
          token: job.token, outcome: .done(facts: facts ?? [:], renditions: []), seconds: 1)
      })
  }
}
