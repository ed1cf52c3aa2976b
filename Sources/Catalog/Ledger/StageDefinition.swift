package import PipelineModel

/// A stage as the ledger needs to know it.
package struct StageDefinition: Hashable, Sendable {
  /// The name.
  package var name: String
  /// The id of the plugin.
  package var plugin: String
  /// What the result depends on besides the bytes.
  package var fingerprint: Fingerprint
  /// Whether rows belong to an asset rather than to the bytes.
  package var isAssetScoped: Bool
  /// Names of needed stages, implicit ones included.
  package var needs: [String]
  /// How often a transient failure or an interruption is tried.
  package var attempts: Int
  /// Plugin and decoder versions; a change makes permanent failures ready again.
  package var runtime: String
  /// The limits as sorted-key JSON; a change makes permanent failures ready again.
  package var limits: String
  /// The types that the plugin works on, `nil` for all; a change makes what was
  /// skipped for its type ready again.
  package var accepts: [String]?
  /// Why no job of the stage can run at the moment; `nil` if they can.
  package var held: String?

  /// Makes it from its parts.
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
