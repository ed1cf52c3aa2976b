import Containers
import PipelineModel

/// The texts of PNG and GIF files, under PNG's keywords; those of GIFs are all `Comment`.
enum TextFacts {
  /// Reads the texts; those with the same keyword form a list.
  static func read(_ texts: [EmbeddedMetadata.Text], _ limits: inout FactLimits) -> [String:
    JSONValue]
  {
    var values: [String: [JSONValue]] = [:]
    for text in texts {
      guard let name = TagText.decode(Array(text.name.utf8)),
        let value = TagText.decode(Array(text.text.utf8))
      else { continue }
      values[name, default: []].append(.string(value))
    }
    var facts: [String: JSONValue] = [:]
    for (name, values) in values.sorted(by: { $0.key < $1.key }) {
      limits.add(values.count == 1 ? values[0] : .array(values), name, to: &facts)
    }
    return facts
  }
}
