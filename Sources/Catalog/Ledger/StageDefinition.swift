package import PipelineModel

/// A configured stage, as the ledger needs it.
package struct StageDefinition: Hashable, Sendable {
  /// The name.
  package var name: String
  /// The id of the plugin.
  package var plugin: String
  /// What the result depends on besides the bytes.
  package var fingerprint: Fingerprint
  /// Whether a row belongs to an asset rather than to the bytes.
  package var isAssetScoped: Bool
  /// Names of needed stages, implicit ones included.
  package var needs: [String]
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

  /// Creates a definition.
  package init(
    name: String, plugin: String, fingerprint: Fingerprint, isAssetScoped: Bool, needs: [String],
    attempts: Int, runtime: String, limits: String, accepts: [String]? = nil,
    held: String? = nil
  ) {
    self.name = name
    self.plugin = plugin
    self.fingerprint = fingerprint
    self.isAssetScoped = isAssetScoped
    self.needs = needs
    self.attempts = attempts
    self.runtime = runtime
    self.limits = limits
    self.accepts = accepts
    self.held = held
  }
}
