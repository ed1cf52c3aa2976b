import PipelineModel
import Records

/// What each rendition depends on besides the bytes, if it depends on a part of its stage's options.
///
/// Kept for each fingerprint that has rows, because a fingerprint alone does not tell what it was made of.
struct RenditionParts: Hashable {
  /// The fingerprint of the part, by rendition, by the fingerprint of the stage; in hexadecimal.
  private var parts: [String: [String: String]] = [:]

  /// Reads the parts; none if they are unreadable, which only costs work.
  static func read(_ connection: Connection) throws(CatalogError) -> RenditionParts {
    let text = try connection.first(Setting.read, Setting.parts) { $0.text(0) }
    var all = RenditionParts()
    all.parts =
      text.flatMap { try? JSONText.decode([String: [String: String]].self, from: $0) } ?? [:]
    return all
  }

  /// Adds the parts of stages, and forgets those of fingerprints without rows.
  func recording(
    _ stages: [StageDefinition], _ connection: Connection
  ) throws(CatalogError) -> RenditionParts {
    var next = self
    for stage in stages where !stage.parts.isEmpty {
      next.parts[stage.fingerprint.digest.hex] = stage.parts.mapValues(\.digest.hex)
    }
    guard next != self else { return self }
    let configured = Set(stages.map(\.fingerprint.digest.hex))
    for text in next.parts.keys where !configured.contains(text) {
      guard let digest = Digest(text),
        try connection.hasRow(
          """
          SELECT 1 FROM ledger INDEXED BY ledger_claim
          WHERE fingerprint = (SELECT id FROM fingerprint WHERE value = ?)
          """, digest)
      else {
        next.parts[text] = nil
        continue
      }
    }
    try connection.execute(Setting.write, Setting.parts, try Catalog.json(next.parts))
    return next
  }

  /// Whether renditions of any other fingerprint may be kept.
  func hasFormer(of fingerprint: Fingerprint) -> Bool {
    parts.count > 1 && parts[fingerprint.digest.hex] != nil
  }

  /// The names of the parts that are the same under two fingerprints.
  func shared(by first: Fingerprint, _ second: Fingerprint) -> Set<String> {
    let others = parts[second.digest.hex] ?? [:]
    return Set((parts[first.digest.hex] ?? [:]).filter { others[$0.key] == $0.value }.keys)
  }
}
