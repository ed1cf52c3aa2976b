import Containers
import PipelineModel

/// A picture's IPTC datasets (IIM).
enum IPTCFacts {
  /// Reads the datasets.
  ///
  /// A dataset that the standard allows to repeat is always a list.
  static func read(_ file: MetadataFile, _ limits: inout FactLimits) -> [String: JSONValue] {
    let (keys, left) = file.keys(.iptc, limit: FactLimits.tags)
    limits.leaveOut(left)
    var facts: [String: JSONValue] = [:]
    for key in keys {
      let parts = key.split(separator: ".", maxSplits: 2)
      guard parts.count == 3, !parts[2].hasPrefix("0x"), parts[2] != "CharacterSet" else {
        continue
      }
      if let value = value(key, file, &limits) {
        limits.add(value, String(parts[2]), to: &facts)
      }
    }
    return facts
  }

  private static func value(
    _ key: String, _ file: MetadataFile, _ limits: inout FactLimits
  ) -> JSONValue? {
    let type = file.type(key)
    let repeats = file.repeats(key)
    let (found, left) = file.values(key, limit: repeats ? FactLimits.values : 1)
    if repeats { limits.leaveOut(left) }
    let values = found.compactMap { TagText.decode($0) }.compactMap { text -> JSONValue? in
      switch type {
      case "String": .string(text)
      case "Date": TagDate.date(text).map { .string($0) }
      case "Time": TagDate.time(text).map { .string($0) }
      case "Short": TagNumber.read(text).map(TagNumber.json)
      default: nil
      }
    }
    if repeats { return values.isEmpty ? nil : .array(values) }
    return values.first
  }
}

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
