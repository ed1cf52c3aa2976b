package import PipelineModel

/// One path that was seen, and its state.
package struct Sighting: Hashable, Sendable {
  /// The one state that a path has.
  package enum State: String, Hashable, Codable, Sendable, CaseIterable {
    case imported, duplicate, ignored, rejected, settling, failed, gone, returned
  }

  /// The absolute path of the source; `/` for what was named to `import`.
  package var source: BytePath
  /// The path relative to the source; an ignored folder ends in a slash.
  package var path: BytePath
  /// The state.
  package var state: State
  /// The file as it was when it got this state; `nil` where it could not be examined.
  package var identity: FileIdentity?
  /// The asset that the path's bytes belong to.
  package var asset: AssetID?
  /// Why the path has this state, as a sentence; for `ignored` the rule.
  package var reason: String?
  /// When the state was last confirmed or changed.
  package var seenAt: Timestamp
  /// Whether the bytes are safe and the source is still to be removed.
  package var awaitsRemoval: Bool

  /// Makes it from its parts.
  package init(
    source: BytePath, path: BytePath, state: State, identity: FileIdentity? = nil,
    asset: AssetID? = nil, reason: String? = nil, seenAt: Timestamp, awaitsRemoval: Bool = false
  ) {
    self.source = source
    self.path = path
    self.state = state
    self.identity = identity
    self.asset = asset
    self.reason = reason
    self.seenAt = seenAt
    self.awaitsRemoval = awaitsRemoval
  }
}

extension Sighting {
  /// Whether something ought to be at the path, as far as the catalog knows.
  ///
  /// The file of a path whose bytes were taken from it is not there any more;
  /// its identity is not kept. Nothing is expected where a path is gone.
  package var isExpected: Bool {
    switch state {
    case .imported, .duplicate, .returned: identity != nil
    case .ignored, .rejected, .settling, .failed: true
    case .gone: false
    }
  }
}
