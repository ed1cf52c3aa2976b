import PipelineModel
import Records

extension StageDefinition {
  /// Encodes all definitions as one text, to detect changes.
  static func json(_ stages: [StageDefinition]) throws(CatalogError) -> String {
    try Catalog.json(
      JSONValue.array(
        stages.map { stage in
          var members: [String: JSONValue] = [
            "name": .string(stage.name), "plugin": .string(stage.plugin),
            "fingerprint": .string(stage.fingerprint.digest.hex),
            "isAssetScoped": .bool(stage.isAssetScoped),
            "needs": .array(stage.needs.map { .string($0) }),
            "attempts": .integer(stage.attempts), "runtime": .string(stage.runtime),
            "limits": .string(stage.limits), "accepts": stage.acceptsJSON,
          ]
          // Left out where there is none, so that the text of other stages stays the same.
          if !stage.input.isEmpty {
            members["input"] = .array(stage.input.map { .string($0.description) })
            members["alternatives"] = .array(stage.alternatives.map { .string($0) })
          }
          members["options"] = stage.options
          return .object(members)
        }))
  }

  /// Decodes the text of `json`, skipping what can't be decoded.
  static func all(json text: String) -> [StageDefinition] {
    let stages = (try? JSONText.decode(JSONValue.self, from: text))?.array ?? []
    return stages.compactMap { stage in
      guard let name = stage["name"]?.string, let plugin = stage["plugin"]?.string,
        let digest = stage["fingerprint"]?.string.flatMap({ Digest($0) }),
        let attempts = stage["attempts"]?.integer, let runtime = stage["runtime"]?.string,
        let limits = stage["limits"]?.string
      else { return nil }
      return StageDefinition(
        name: name, plugin: plugin, fingerprint: Fingerprint(digest),
        options: stage["options"],
        isAssetScoped: stage["isAssetScoped"]?.bool ?? false,
        needs: stage["needs"]?.array?.compactMap(\.string) ?? [],
        input: stage["input"]?.array?.compactMap { $0.string.flatMap { RenditionReference($0) } }
          ?? [],
        alternatives: stage["alternatives"]?.array?.compactMap(\.string) ?? [], attempts: attempts,
        runtime: runtime, limits: limits, accepts: stage["accepts"]?.array?.compactMap(\.string))
    }
  }

  private var acceptsJSON: JSONValue {
    accepts.map { .array($0.sorted().map { .string($0) }) } ?? .null
  }

  /// Whether the stage last accepted other types, or its last types are unknown.
  ///
  /// - Parameter known: the last definitions, as encoded by `json`.
  func acceptsOther(than known: JSONValue?) -> Bool {
    let last = known?.array?.first {
      $0["name"]?.string == name && $0["fingerprint"]?.string == fingerprint.digest.hex
    }
    return last?["accepts"] != acceptsJSON
  }
}
