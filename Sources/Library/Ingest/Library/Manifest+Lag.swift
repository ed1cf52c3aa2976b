import Manifest

extension Manifest {
  /// A sentence, without its full stop, which says that a catalog has facts that this manifest lacks; `nil` if it lacks
  /// none.
  ///
  /// - Parameter position: the last fact that the catalog has.
  func lag(behind position: Int64) -> String? {
    guard position > lastSequence else { return nil }
    return "The catalog has \(position) facts, the manifest only \(lastSequence)"
  }
}
