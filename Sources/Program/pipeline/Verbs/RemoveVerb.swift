import Catalog
import LibraryControl
import LibrarySession
import PipelineModel
import Query

/// `pipeline rm`: puts assets into the trash.
enum RemoveVerb: Verb {
  static let name = "rm"
  static let summary = "Put assets into the trash; `trash` brings them back or empties it"
  static let operands = "ID… | QUERY"
  static let takesQuery = true
  static let options = [Option.yes, Option.wait, Option.dryRun]
  static let examples = [
    ("pipeline rm 0197a2c4", "one asset, by the beginning of its ID"),
    ("pipeline rm 3f9c 51d0 && pipeline trash empty", "two assets, for good"),
    ("pipeline rm 'rating=-1' --dry-run", "how many are marked as rejected"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    guard !context.arguments.operands.isEmpty else {
      throw UsageError("Name the assets to put into the trash.", verb: name)
    }
    let assets = try context.namedAssets(where: .not(.flag(.trashed)))
    let isDryRun = context.arguments.has(.dryRun)
    var count = 0
    if isDryRun {
      count = try context.reading { session in
        try Set(assets.ids).count { try session.catalog.asset($0)?.state != .trashed }
      }
    } else {
      if case .found(let found) = assets {
        let question = "Put \(counted(found.count, "asset")) into the trash?"
        guard try context.isConfirmed(found.count, question) else { return .success }
      }
      // Before, because what is in the trash is in no group.
      let others = try others(of: assets.ids, context)
      count = try context.perform(for: assets.ids, counting: "assets") { .trash($0) }
      tell(others, context.console)
    }
    context.console.summary("trashed", count, "asset", "put into the trash", isDryRun: isDryRun)
    return SignalHandler.shared.exitCode ?? .success
  }

  /// The members of the assets' groups that stay.
  private static func others(
    of assets: [AssetID], _ context: Context
  ) throws -> [AssetID: [GroupCompanion]] {
    let removed = Set(assets)
    return try context.reading { session in
      try removed.reduce(into: [:]) { others, id in
        let staying = try session.catalog.group(of: id).filter { !removed.contains($0.id) }
        others[id] = staying.isEmpty ? nil : staying
      }
    }
  }

  /// The most assets of which people are told what remains.
  private static let mostTold = 20

  private static func tell(_ others: [AssetID: [GroupCompanion]], _ console: Console) {
    let sorted = others.sorted { $0.key < $1.key }
    for (id, staying) in console.isJSON ? sorted[...] : sorted.prefix(mostTold) {
      if console.isJSON {
        console.event(
          "remaining",
          [
            "asset": .string(id.description),
            "members": .array(staying.map { .object(JSONMembers.companion($0)) }),
          ])
      } else {
        let names = staying.map { "\($0.name.printable) (\($0.id))" }.joined(separator: ", ")
        console.message("\(id) is gone from its group; there remain \(names).")
      }
    }
    if !console.isJSON, sorted.count > mostTold {
      let more = counted(sorted.count - mostTold, "more asset")
      console.message("Of \(more), too, members of their groups remain.")
    }
  }
}
