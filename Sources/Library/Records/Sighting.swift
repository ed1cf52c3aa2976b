package import PipelineModel

/// A path seen in a source, and its state.
package struct Sighting: Hashable, Sendable {
  package enum State: String, Hashable, Codable, Sendable, CaseIterable {
    case imported, duplicate, ignored, rejected, settling, failed, gone, returned
  }

  /// The absolute path of the source; `/` for paths named to `import`.
  package var source: BytePath
  /// The path relative to the source; an ignored folder ends in a slash.
  package var path: BytePath
  package var state: State
  /// The file's identity when it got this state; `nil` if it was removed or not examined.
  package var identity: FileIdentity?
  /// The asset that the path's bytes belong to.
  package var asset: AssetID?
  /// The reason for the state, as a sentence; for `ignored` the rule.
  package var reason: String?
  /// When the state was last confirmed or changed.
  package var seenAt: Timestamp
  /// Whether the bytes are durable and the source file is still to be removed.
  package var awaitsRemoval: Bool
  /// The run that found its bytes to be new, or to be there already; `nil` for other states, and if it is not known.
  package var run: AssetID?

  package init(
    source: BytePath, path: BytePath, state: State, identity: FileIdentity? = nil,
    asset: AssetID? = nil, reason: String? = nil, seenAt: Timestamp, awaitsRemoval: Bool = false,
    run: AssetID? = nil
  ) {
    self.source = source
    self.path = path
    self.state = state
    self.identity = identity
    self.asset = asset
    self.reason = reason
    self.seenAt = seenAt
    self.awaitsRemoval = awaitsRemoval
    self.run = run
  }

  /// Whether the catalog expects a file at the path.
  ///
  /// A moved file is no longer at its path, and has no recorded identity. No file is
  /// expected at a path that is gone.
  package var isExpected: Bool {
    switch state {
    case .imported, .duplicate, .returned: identity != nil
    case .ignored, .rejected, .settling, .failed: true
    case .gone: false
    }
  }
}
