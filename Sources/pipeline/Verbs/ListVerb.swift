import Catalog
import Ingest
import PipelineModel

/// `pipeline list`: lists all assets, oldest first.
enum ListVerb: Verb {
  static let name = "list"
  static let summary = "List all assets, oldest first"
  static let examples = [
    ("pipeline list", "a line for each"),
    ("pipeline list --json | jq -r .name", "their names"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let console = context.console
    let session = try ReadingSession(context)
    let catalog = session.catalog
    let damage = try session.damage()
    if console.isJSON {
      try catalog.assetLines { id, line in
        try console.expectReader()
        if let line, damage[id] == nil, console.event(line: line) { return }
        if let asset = try catalog.asset(id) {
          console.event("asset", JSONMembers.asset(asset, damage: damage[id] ?? []))
        }
      }
      return .success
    }
    var count = 0
    try catalog.assets { asset in
      try console.expectReader()
      console.result(line(asset, damage[asset.id] ?? []))
      count += 1
    }
    console.total(counted(count, "asset"))
    return .success
  }

  private static func line(_ asset: AssetRecord, _ damage: [DamageList.Entry]) -> String {
    let facts = asset.identity
    let pixels =
      if let width = facts?["width"]?.integer, let height = facts?["height"]?.integer {
        "\(width)x\(height)"
      } else {
        "-"
      }
    let columns = [
      asset.id.description, asset.state.rawValue, ByteSize(bytes: asset.size).description,
      facts?["mediaType"]?.string ?? "-", pixels, asset.name.printable,
    ]
    let marks = marks(asset, damage)
    return (columns + (marks.isEmpty ? [] : [marks])).joined(separator: "\t")
  }

  /// What its state does not say.
  private static func marks(_ asset: AssetRecord, _ damage: [DamageList.Entry]) -> String {
    var marks: [String] = []
    if asset.renditions.contains(where: { $0.from == "damaged" }) { marks.append("damaged") }
    if asset.skipped > 0 { marks.append("skipped by \(counted(asset.skipped, "stage"))") }
    for entry in damage where !marks.contains(entry.kind.rawValue) {
      marks.append(entry.kind.rawValue)
    }
    return marks.joined(separator: ", ")
  }
}
