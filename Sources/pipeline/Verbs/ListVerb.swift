import Catalog
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
    let catalog = try ReadingSession(context).catalog
    if console.isJSON {
      try catalog.assetLines { id, line in
        try console.expectReader()
        if let line, console.event(line: line) { return }
        if let asset = try catalog.asset(id) {
          console.event("asset", JSONMembers.asset(asset))
        }
      }
      return .success
    }
    var count = 0
    try catalog.assets { asset in
      try console.expectReader()
      console.result(line(asset))
      count += 1
    }
    console.total(counted(count, "asset"))
    return .success
  }

  private static func line(_ asset: AssetRecord) -> String {
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
    let mark = asset.renditions.contains { $0.from == "damaged" } ? ["damaged"] : []
    return (columns + mark).joined(separator: "\t")
  }
}
