import Manifest

extension Manifest {
  /// Says that a catalog has facts that this manifest lacks, without a full stop; `nil` if it has none.
  ///
  /// - Parameter position: the last fact that the catalog has.
  func lack(of position: Int64) -> String? {
    guard position > lastSequence else { return nil }
    return "The catalog has \(position) facts, the manifest only \(lastSequence)"
  }
}
