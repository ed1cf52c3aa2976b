/// This machine among several that work on one library.
package struct NodeConfiguration: Sendable, Hashable {
  /// Its name, unlike that of any other machine; by default that of the host.
  package var name: String?
  /// Whether another machine has the library's own folder, so that this one takes files for it; default false.
  package var joins = false

  /// The pattern of a name, which is a part of recorded paths.
  static let namePattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
}
