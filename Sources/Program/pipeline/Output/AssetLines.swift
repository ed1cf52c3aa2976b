import Catalog
import Ingest
import PipelineModel
import Records

/// An asset as a line of columns separated by tabs.
enum AssetLines {
  static func line(_ asset: AssetRecord, _ damage: [DamageList.Entry]) -> String {
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
    if let gap = asset.withoutThumbnail { marks.append("no thumbnail: \(gap.cause.words)") }
    for entry in damage where !marks.contains(entry.kind.rawValue) {
      marks.append(entry.kind.rawValue)
    }
    return marks.joined(separator: ", ")
  }
}
