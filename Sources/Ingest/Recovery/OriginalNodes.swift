import Files
import Originals
import PipelineModel

/// Originals by inode, read from disk once, when the first is asked for.
final class OriginalNodes {
  private let originals: any OriginalStore
  private var nodes: [UInt64: [(digest: Digest, identity: FileIdentity)]]?

  init(_ originals: any OriginalStore) { self.originals = originals }

  /// Returns the original that is the same file as one that was seen before.
  func original(of identity: FileIdentity) throws(FileError) -> Digest? {
    let nodes: [UInt64: [(digest: Digest, identity: FileIdentity)]]
    if let known = self.nodes { nodes = known } else { nodes = try read() }
    self.nodes = nodes
    return nodes[identity.inode]?.first { $0.identity.isSameFile(as: identity) }?.digest
  }

  private func read() throws(FileError) -> [UInt64: [(digest: Digest, identity: FileIdentity)]] {
    var nodes: [UInt64: [(digest: Digest, identity: FileIdentity)]] = [:]
    try originals.forEach { entry throws(FileError) in
      guard case .original(let digest, let status) = entry else { return }
      nodes[status.identity.inode, default: []].append((digest, status.identity))
    }
    return nodes
  }
}
