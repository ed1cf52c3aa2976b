import Catalog
import Ingest
import LibraryControl
import LibrarySession
import PipelineModel
import Query
import Records

/// `pipeline trash`: lists the trash, restores assets from it or empties it.
enum TrashVerb: Verb {
  static let name = "trash"
  static let summary = "See what is in the trash, bring it back, or delete it for good"
  static let operands = "list|restore ID…|restore QUERY|empty"
  static let takesQuery = true
  static let olderThan = Option(
    name: "--older-than", value: "DURATION",
    help: "with list and empty: only what has been in the trash this long, e.g. 30d")
  static let options = [olderThan, Option.yes, Option.wait, Option.dryRun]
  static let examples = [
    ("pipeline trash list", "a line for each asset in it"),
    ("pipeline trash restore 0197a2c4", "as if it had never been there"),
    ("pipeline trash restore imported:today", "those that a query finds"),
    ("pipeline trash empty", "for good; `gc` then frees the space"),
    ("pipeline trash empty --older-than 30d --yes", "from cron, without confirmation"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    switch try context.operand(0, "list, restore or empty").utf8 {
    case "list":
      try context.expectOperands(atMost: 1)
      return try list(context)
    case "restore":
      return try restore(context)
    case "empty":
      try context.expectOperands(atMost: 1)
      return try empty(context)
    default:
      throw UsageError("Name an action: list, restore or empty.", verb: name)
    }
  }

  /// Only assets trashed before this time are affected; `nil` for all.
  private static func before(_ context: Context) throws(UsageError) -> Timestamp? {
    try context.duration(olderThan).map { Timestamp.now.adding(seconds: -$0.seconds) }
  }

  private static func list(_ context: Context) throws -> ExitCode {
    let console = context.console
    let before = try before(context)
    var count = 0
    let session = try ReadingSession(context.search)
    let damage = try console.isJSON ? session.damage() : [:]
    try session.catalog.trashedAssets { asset in
      try console.expectReader()
      if let before, let trashedAt = asset.trashedAt, trashedAt >= before { return }
      count += 1
      if console.isJSON {
        console.event("asset", JSONMembers.asset(asset, damage: damage[asset.id] ?? []))
      } else {
        let since = asset.trashedAt?.rfc3339.prefix(10) ?? "-"
        console.result(
          "\(asset.id)\t\(ByteSize(bytes: asset.size))\t\(asset.name.printable)\t\(since)")
      }
    }
    console.total(counted(count, "asset") + " in the trash")
    return .success
  }

  private static func restore(_ context: Context) throws -> ExitCode {
    let names = context.arguments.operands.dropFirst()
    guard !names.isEmpty else { throw UsageError("Name the assets to bring back.", verb: name) }
    guard context.arguments.value(olderThan) == nil else {
      throw UsageError("\(olderThan.name) goes with list and empty.", verb: name)
    }
    let isDryRun = context.arguments.has(.dryRun)
    let assets = try context.namedAssets(names, where: .flag(.trashed)).ids
    let count =
      isDryRun
      ? try context.reading { session in
        try Set(assets).count { try session.catalog.asset($0)?.state == .trashed }
      }
      : try context.perform(for: assets, counting: "assets") { .restore($0) }
    context.console.summary("restored", count, "asset", "brought back", isDryRun: isDryRun)
    return SignalHandler.shared.exitCode ?? .success
  }

  private static func empty(_ context: Context) throws -> ExitCode {
    let isDryRun = context.arguments.has(.dryRun)
    // Another machine may answer much later.
    var before = try before(context) ?? (JoinedPlace(context.search) == nil ? nil : .now)
    // `--yes` needs no count, which takes time.
    var planned: RequestResult?
    if isDryRun || !context.arguments.has(.yes) {
      // What is trashed while the user reads the question was not asked about.
      before = before ?? .now
      planned = try preview(context, before: before)
    }
    if let planned, !isDryRun {
      let count = counted(planned.count("assets"), "asset")
      let mayRemove = try context.mayRemove(planned.count("assets"), "Delete \(count) for good?")
      guard mayRemove else { return .success }
    }
    let result =
      if isDryRun, let planned {
        planned
      } else {
        try context.perform(.emptyTrash(before: before?.microseconds))
      }
    let what = isDryRun ? "would be deleted" : "deleted"
    let bytes = ByteSize(bytes: result.count("bytes"))
    context.console.summary(
      "emptied", result.members,
      "\(counted(result.count("assets"), "asset")) \(what) for good; `pipeline gc` then frees "
        + "\(bytes).", isDryRun: isDryRun)
    return SignalHandler.shared.exitCode ?? .success
  }

  private static func preview(_ context: Context, before: Timestamp?) throws -> RequestResult {
    try context.reading { session in
      let trash = try session.catalog.trash(
        limit: .max, before: before ?? Timestamp(microseconds: .max))
      let trashed = Set(trash.map(\.id))
      let sizes = Dictionary(trash.map { ($0.digest, $0.size) }, uniquingKeysWith: { $1 })
      let freed = try sizes.filter { digest, _ in
        try session.catalog.assets(with: digest).allSatisfy { trashed.contains($0) }
      }
      return RequestResult(TrashEmptied(assets: trash.count, bytes: freed.values.reduce(0, +)))
    }
  }
}
