/// A change that a process on another machine asks for.
package struct RemoteRequest: Hashable, Sendable {
  package let id: Int64
  /// The process that asks, by its number.
  package let participant: Int64
  package let body: String
  /// The machine's name; empty if the process is gone.
  package let node: String
  /// Whether it was begun before, by a process that ended in it.
  package let wasBegun: Bool

  package init(id: Int64, participant: Int64, body: String, node: String, wasBegun: Bool) {
    self.id = id
    self.participant = participant
    self.body = body
    self.node = node
    self.wasBegun = wasBegun
  }
}
