package import Catalog
package import PipelineModel

/// What happened to one path in a run.
package struct FileEvent: Hashable, Codable, Sendable {
  /// The absolute path; an ignored folder without its slash.
  package var path: BytePath
  /// The path's current state.
  package var outcome: Sighting.State
  /// The asset that its bytes belong to.
  package var asset: AssetID?
  /// The reason, as a sentence.
  package var reason: String?
  /// The bytes stored for it; 0 if none.
  package var storedBytes: Int

  package init(
    path: BytePath, outcome: Sighting.State, asset: AssetID? = nil, reason: String? = nil,
    storedBytes: Int = 0
  ) {
    self.path = path
    self.outcome = outcome
    self.asset = asset
    self.reason = reason
    self.storedBytes = storedBytes
  }
}

extension FileEvent {
  /// The event of a state that needed no import.
  init(_ sighting: Sighting) {
    var path = sighting.path.bytes
    if path.last == UInt8(ascii: "/") { path.removeLast() }
    self.init(
      path: sighting.source.appending(BytePath(bytes: path)), outcome: sighting.state,
      asset: sighting.asset, reason: sighting.reason)
  }
}
