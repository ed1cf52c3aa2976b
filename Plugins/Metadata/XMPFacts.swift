import PipelineModel

/// A picture's XMP properties, named as in XMP: `dc:subject`.
///
/// Members of structures are named by their path, as in XMP's specification:
/// `xmpMM:History[1]/stEvt:action`.
enum XMPFacts {
  /// Numbers and Booleans that are not EXIF's.
  private static let numbers: Set = ["xmp:Rating", "photoshop:Urgency"]
  private static let truths: Set = ["xmpRights:Marked"]

  /// Reads the properties.
  ///
  /// - Parameter places: whether to read EXIF's place tags where XMP repeats them.
  static func read(
    _ file: MetadataFile, places: Bool, _ limits: inout FactLimits
  ) -> [String: JSONValue] {
    let (keys, left) = file.keys(.xmp, limit: FactLimits.tags)
    limits.leaveOut(left)
    var facts: [String: JSONValue] = [:]
    for key in keys {
      let parts = key.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      let name = "\(parts[1]):\(parts[2])"
      guard places || !name.hasPrefix("exif:GPS") else { continue }
      if let value = value(key, name, file, &limits) { limits.add(value, name, to: &facts) }
    }
    return facts
  }

  private static func value(
    _ key: String, _ name: String, _ file: MetadataFile, _ limits: inout FactLimits
  ) -> JSONValue? {
    let type = file.type(key)
    let (found, left) = file.values(key, limit: FactLimits.values)
    let text = file.text(key) ?? []
    if type == "LangAlt" || text.starts(with: Array("lang=\"".utf8)) {
      return languages(text, &limits)
    }
    if ["XmpBag", "XmpSeq", "XmpAlt"].contains(type) || found.count > 1 {
      limits.leaveOut(left)
      let values = found.compactMap { TagText.decode($0) }.map { typed($0, name, file) }
      return values.isEmpty ? nil : .array(values)
    }
    guard let text = TagText.decode(text), !isStructure(text) else { return nil }
    return typed(text, name, file)
  }

  /// Whether exiv2 printed a structure's type instead of a value.
  private static func isStructure(_ text: String) -> Bool {
    ["type=\"Struct\"", "type=\"Bag\"", "type=\"Seq\"", "type=\"Alt\""].contains(text)
  }

  /// A text converted to its standard type, or the text itself if it doesn't fit.
  private static func typed(_ text: String, _ name: String, _ file: MetadataFile) -> JSONValue {
    if truths.contains(name), ["true", "false"].contains(text.lowercased()) {
      return .bool(text.lowercased() == "true")
    }
    guard numbers.contains(name) || isEXIFNumber(name, file), let number = TagNumber.read(text)
    else { return .string(text) }
    return TagNumber.json(number)
  }

  /// Whether a property is one of EXIF or TIFF, and a number there.
  private static func isEXIFNumber(_ name: String, _ file: MetadataFile) -> Bool {
    let groups = ["exif:": "Photo", "exifEX:": "Photo", "tiff:": "Image"]
    for (prefix, group) in groups where name.hasPrefix(prefix) {
      let type = file.type("Exif.\(group).\(name.dropFirst(prefix.count))")
      return ["Short", "Long", "Rational", "SShort", "SLong", "SRational"].contains(type)
    }
    return false
  }

  /// Texts by language, which exiv2 prints as `lang="x-default" Title, lang="de" Titel`.
  private static func languages(_ bytes: [UInt8], _ limits: inout FactLimits) -> JSONValue? {
    let mark = "lang=\""
    let text = String(decoding: bytes, as: UTF8.self)
    var members: [String: JSONValue] = [:]
    for part in text.split(separator: ", " + mark, omittingEmptySubsequences: false) {
      let part = part.hasPrefix(mark) ? part.dropFirst(mark.count) : part
      let halves = part.split(separator: "\" ", maxSplits: 1, omittingEmptySubsequences: false)
      guard halves.count == 2, let value = TagText.decode(Array(halves[1].utf8)) else { continue }
      guard members.count < FactLimits.values, halves[0].utf8.count <= 64 else {
        limits.leaveOut()
        continue
      }
      members[String(halves[0])] = .string(value)
    }
    return members.isEmpty ? nil : .object(members)
  }
}
