// Makes a catalog of jobs in PostgreSQL, and does them by `Ledger` without any plugin.
//
// usage: ledger-probe fill URI ASSETS
//        ledger-probe work URI SECONDS
//   fill  imports so many assets of one stage into an empty database
//   work  joins, prints "ready", waits for a line on standard input, and then claims and completes 64 jobs at a time for
//         so long; prints {"jobs": …, "seconds": …}

import Catalog
import Foundation
import Hashing
import PipelineModel
import Records

enum Probe {
  static let libraryID = "ledger-probe"
  static let batch = 64

  static var stage: StageDefinition {
    // Not one whose facts are searched, so that a job costs what the ledger alone does.
    StageDefinition(
      name: "small", plugin: "small",
      fingerprint: Fingerprint(SHA256.digest(of: Array("small".utf8))),
      isAssetScoped: false, needs: [], attempts: 3, runtime: "small 1", limits: "{}")
  }

  static func fill(_ place: CatalogPlace, _ count: Int) throws {
    let catalog = try Catalog.create(at: place, libraryID: libraryID)
    try catalog.configure([stage])
    for first in stride(from: 1, through: count, by: 512) {
      let assets = try (first...min(first + 511, count)).map { CatalogChange.asset(try asset($0)) }
      try catalog.apply(assets, manifestPosition: Int64(first))
    }
    try catalog.close()
  }

  /// The n-th asset, whose key follows that of the one before it, as with an import.
  private static func asset(_ number: Int) throws -> NewAsset {
    let digest = SHA256.digest(of: Array("\(number)".utf8))
    let time = (0..<6).map { UInt8(truncatingIfNeeded: number >> (8 * (5 - $0))) }
    guard let id = AssetID(bytes: time + digest.bytes.prefix(10)) else { throw Failure("No key.") }
    let name = BytePath("IMG_\(number).jpg")
    return NewAsset(
      id: id, digest: digest, size: 1000, name: name, source: "/pictures",
      path: BytePath("\(number / 500)/").appending(name), modified: 0, permissions: 0o640,
      importedAt: Timestamp(microseconds: Int64(number)))
  }

  static func work(_ place: CatalogPlace, for time: Duration) throws {
    let catalog = try Catalog.openBeside(place, libraryID: libraryID)
    for (stage, refusal) in try catalog.work(on: [stage]) {
      if let refusal { throw Failure("The stage “\(stage.name)” is refused: \(refusal)") }
    }
    try FileHandle.standardOutput.write(contentsOf: Data("ready\n".utf8))
    guard readLine() != nil else { throw Failure("Nobody waits for this.") }
    let clock = ContinuousClock()
    let start = clock.now
    let end = start + time
    var jobs = 0
    while clock.now < end {
      let claimed = try catalog.claim(stage: stage.name, limit: batch, suspects: false)
      guard claimed.count == batch else { throw Failure("There are not enough jobs.") }
      _ = try catalog.complete(claimed.map(completion(of:)))
      jobs += claimed.count
    }
    print(#"{"jobs": \#(jobs), "seconds": \#((clock.now - start) / .seconds(1))}"#)
    try catalog.close()
  }

  private static func completion(of job: ClaimedJob) -> Completion {
    let content = job.digest.bytes + [UInt8](repeating: 7, count: 968)
    let rendition = NewRendition(
      name: "grid", mediaType: "image/jpeg", width: 256, height: 171, bytes: content.count,
      digest: job.digest, from: "image", content: .database(content))
    let facts: JSONValue = [
      "width": 256, "height": 171, "format": "jpeg", "text": .string(job.digest.hex),
    ]
    return Completion(
      token: job.token, outcome: .done(facts: facts, renditions: [rendition]), seconds: 0.01)
  }
}

struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

let arguments = CommandLine.arguments
do {
  guard arguments.count == 4, let number = Int(arguments[3]), number > 0 else {
    throw Failure("usage: ledger-probe fill URI ASSETS | work URI SECONDS")
  }
  let place = CatalogPlace.database(try DatabaseLocation(arguments[2]))
  switch arguments[1] {
  case "fill": try Probe.fill(place, number)
  case "work": try Probe.work(place, for: .seconds(number))
  default: throw Failure("There is no “\(arguments[1])”.")
  }
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(1)
}
