package import PipelineModel

/// A configured stage, as the ledger needs it.
package struct StageDefinition: Hashable, Sendable {
  package var name: String
  /// The id of the plugin.
  package var plugin: String
  package var fingerprint: Fingerprint
  /// The options without defaults, as they are part of the fingerprint; by them a difference is named. `nil` if they are
  /// unknown, because an older program recorded the stage.
  package var options: JSONValue?
  /// Whether a row belongs to an asset rather than to the bytes.
  package var isAssetScoped: Bool
  /// Names of needed stages, implicit ones included.
  package var needs: [String]
  /// The renditions of needed stages to work on: the first that an asset has; none for the original.
  package var input: [RenditionReference]
  /// The needed stages of `input` of which one suffices: the others may fail or skip.
  package var alternatives: [String]
  /// The maximum number of attempts after transient failures or interruptions.
  package var attempts: Int
  /// Plugin and decoder versions; a change makes failures ready again.
  package var runtime: String
  /// The limits as JSON with sorted keys; a change makes failures ready again.
  package var limits: String
  /// The accepted media types, `nil` for all; a change makes rows that were
  /// skipped because of their type ready again.
  package var accepts: [String]?
  /// Why no job of the stage can run at the moment; `nil` if jobs can run.
  package var held: String?
  /// A fingerprint of what each rendition depends on, by its name, if each depends on a part of the
  /// options: one that had the same under another fingerprint of the stage is kept.
  package var parts: [String: Fingerprint]

  package init(
    name: String, plugin: String, fingerprint: Fingerprint, options: JSONValue? = nil,
    isAssetScoped: Bool, needs: [String],
    input: [RenditionReference] = [], alternatives: [String] = [], attempts: Int, runtime: String,
    limits: String, accepts: [String]? = nil, held: String? = nil,
    parts: [String: Fingerprint] = [:]
  ) {
    self.name = name
    self.plugin = plugin
    self.fingerprint = fingerprint
    self.options = options
    self.isAssetScoped = isAssetScoped
    self.needs = needs
    self.input = input
    self.alternatives = alternatives
    self.attempts = attempts
    self.runtime = runtime
    self.limits = limits
    self.accepts = accepts
    self.held = held
    self.parts = parts
  }
}
