import Catalog
import LibraryControl
import LibrarySession
import PipelineModel
import Query
import Records

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
      let remaining = try remaining(of: assets.ids, context)
      count = try context.perform(for: assets.ids, counting: "assets") { .trash($0) }
      tell(remaining, context.console)
    }
    context.console.summary("trashed", count, "asset", "put into the trash", isDryRun: isDryRun)
    return SignalHandler.shared.exitCode ?? .success
  }

  /// The members of groups that stay when others go.
  private struct Remaining {
    var members: [(asset: AssetID, staying: [GroupCompanion])] = []
    /// The number of further assets of whose groups some stay.
    var more = 0
  }

  /// The most assets of which people are told what remains.
  private static let mostTold = 20

  private static func remaining(of assets: [AssetID], _ context: Context) throws -> Remaining {
    let removed = Set(assets)
    return try context.reading { session in
      var remaining = Remaining()
      for id in removed.sorted() {
        if SignalHandler.shared.isStopRequested { break }
        let staying = try session.catalog.group(of: id).filter { !removed.contains($0.id) }
        if staying.isEmpty { continue }
        if context.console.isJSON || remaining.members.count < mostTold {
          remaining.members.append((id, staying))
        } else {
          remaining.more += 1
        }
      }
      return remaining
    }
  }

  private static func tell(_ remaining: Remaining, _ console: Console) {
    for (id, staying) in remaining.members {
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
    if remaining.more > 0 {
      console.message(
        "Of \(counted(remaining.more, "more asset")), too, members of their groups remain.")
    }
  }
}
