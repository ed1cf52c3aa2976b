import Files
import Fixtures
import Foundation
import PipelineModel

/// What a disk holds while a trace is replayed: what a process sees, and what was flushed.
struct DiskModel {
  /// What of all that was not flushed is on the disk after the power was cut.
  enum Loss: String, CaseIterable, Sendable {
    /// Nothing: files are as they were flushed, folders have the names that they were flushed with.
    case everything
    /// Names, sizes and modes are there, bytes are not: they read as zeros.
    case bytes
    /// Names, sizes and modes are there, and some pages of the bytes.
    case somePages
  }

  static let page = 4096

  final class Node {
    let inode: UInt64
    let isFolder: Bool
    var mode: UInt32
    var modified: Int64
    var changed: Int64
    var flushed: (mode: UInt32, modified: Int64, changed: Int64)
    /// The bytes as the process sees them, as they were flushed, and with zeros where they weren't.
    var bytes: [UInt8] = []
    var flushedBytes: [UInt8] = []
    var sparseBytes: [UInt8] = []
    /// Pages that were written since the last flush.
    var pages: Set<Int> = []
    var names: [BytePath: Node] = [:]
    var flushedNames: [BytePath: Node] = [:]

    init(inode: UInt64, isFolder: Bool, mode: UInt32, modified: Int64, changed: Int64) {
      self.inode = inode
      self.isFolder = isFolder
      self.mode = mode
      self.modified = modified
      self.changed = changed
      flushed = (mode, modified, changed)
    }

    /// Copies what is flushed, with all that is in a folder.
    func copy() -> Node {
      let copy = Node(
        inode: inode, isFolder: isFolder, mode: mode, modified: modified, changed: changed)
      copy.bytes = bytes
      copy.names = names.mapValues { $0.copy() }
      copy.flush(withMetadata: true)
      return copy
    }

    func write(_ new: [UInt8], at offset: Int) {
      guard !new.isEmpty else { return }
      let end = offset + new.count
      for keyPath in [\Node.bytes, \Node.sparseBytes] where self[keyPath: keyPath].count < end {
        self[keyPath: keyPath] += [UInt8](repeating: 0, count: end - self[keyPath: keyPath].count)
      }
      bytes.replaceSubrange(offset..<end, with: new)
      pages.formUnion(offset / DiskModel.page...(end - 1) / DiskModel.page)
    }

    func truncate(to size: Int) {
      for keyPath in [\Node.bytes, \Node.sparseBytes] {
        let count = self[keyPath: keyPath].count
        if count > size {
          self[keyPath: keyPath].removeLast(count - size)
        } else {
          self[keyPath: keyPath] += [UInt8](repeating: 0, count: size - count)
        }
      }
      pages = pages.filter { $0 * DiskModel.page < size }
    }

    func flush(withMetadata: Bool) {
      flushedBytes = bytes
      sparseBytes = bytes
      pages = []
      if withMetadata { flushed = (mode, modified, changed) }
      flushedNames = names
    }

    func content<Random: RandomNumberGenerator>(
      after loss: Loss, using random: inout Random
    ) -> [UInt8] {
      switch loss {
      case .everything: return flushedBytes
      case .bytes: return sparseBytes
      case .somePages:
        var result = sparseBytes
        for page in pages.sorted() where Bool.random(using: &random) {
          let start = page * DiskModel.page
          let range = (start..<start + DiskModel.page).clamped(to: 0..<bytes.count)
          result.replaceSubrange(range, with: bytes[range])
        }
        return result
      }
    }
  }

  let root: BytePath
  let top: Node
  private var nodes: [UInt64: Node] = [:]

  /// Reads a tree as it is; all of it counts as flushed.
  init(of root: BytePath) throws {
    self.root = root
    let folder = try Descriptor.openFolder(root)
    top = Self.makeNode(try folder.status())
    nodes[top.inode] = top
    try read(folder, into: top)
  }

  /// Copies a tree that was read, so that calls can be applied to the copy.
  init(of other: DiskModel) {
    root = other.root
    top = other.top.copy()
    note(top)
  }

  private mutating func note(_ node: Node) {
    nodes[node.inode] = node
    for child in node.names.values { note(child) }
  }

  private mutating func read(_ folder: Descriptor, into node: Node) throws {
    for entry in try folder.entries() {
      let status = try folder.status(of: entry.name)
      let child = Self.makeNode(status)
      if child.isFolder {
        try read(Descriptor.openFolder(entry.name, in: folder, followsLinks: false), into: child)
      } else {
        child.bytes = try folder.readFile(entry.name, limit: 1 << 30)
      }
      child.flush(withMetadata: true)
      nodes[child.inode] = child
      node.names[entry.name] = child
    }
    node.flush(withMetadata: true)
  }

  private static func makeNode(_ status: FileStatus) -> Node {
    Node(
      inode: status.identity.inode, isFolder: status.kind == .folder, mode: status.permissions,
      modified: status.identity.modified, changed: status.identity.changed)
  }

  /// Does what a call did, as far as it was in the tree.
  mutating func apply(_ record: TraceRecord) {
    switch record.kind {
    case .create, .makeFolder:
      guard let (folder, name) = place(record.first) else { return }
      let node = Node(
        inode: record.inode, isFolder: record.kind == .makeFolder, mode: record.mode & 0o7777,
        modified: record.modified, changed: record.changed)
      folder.names[name] = node
      nodes[record.inode] = node
    case .rename:
      let node = place(record.first).flatMap { $0.folder.names.removeValue(forKey: $0.name) }
      guard let node, let (folder, name) = place(record.second) else { return }
      folder.names[name] = node
    case .link:
      guard let (from, old) = place(record.first), let node = from.names[old],
        let (folder, name) = place(record.second)
      else { return }
      folder.names[name] = node
    case .unlink, .removeFolder:
      guard let (folder, name) = place(record.first) else { return }
      folder.names[name] = nil
    case .write: nodes[record.inode]?.write(record.first, at: record.offset)
    case .truncate: nodes[record.inode]?.truncate(to: record.offset)
    case .syncAll: for node in nodes.values { node.flush(withMetadata: true) }
    case .sync, .syncData, .meta, .output, .unknown: break
    }
    guard let node = nodes[record.inode] else { return }
    node.mode = record.mode & 0o7777
    node.modified = record.modified
    node.changed = record.changed
    if record.isSync { node.flush(withMetadata: record.kind != .syncData) }
  }

  private func place(_ path: [UInt8]) -> (folder: Node, name: BytePath)? {
    guard let relative = BytePath(bytes: path).relative(to: root) else { return nil }
    var folder = top
    for part in relative.components.dropLast() {
      guard let next = folder.names[part] else { return nil }
      folder = next
    }
    return (folder, relative.lastComponent)
  }

  /// All files, by path, as the process sees them.
  var files: [BytePath: [UInt8]] {
    var found: [BytePath: [UInt8]] = [:]
    func walk(_ path: BytePath, _ node: Node) {
      for (name, child) in node.names {
        let inner = path.appending(name)
        if child.isFolder { walk(inner, child) } else { found[inner] = child.bytes }
      }
    }
    walk(BytePath(bytes: []), top)
    return found
  }
}
