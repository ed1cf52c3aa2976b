import Files
import Foundation
import Glibc
import PipelineModel

/// Builds the tree that a disk shows after the power was cut.
struct DiskImage<Random: RandomNumberGenerator> {
  let model: DiskModel
  let loss: DiskModel.Loss
  var random: Random
  /// A path for each inode that was made already: others are hard links to it.
  private var made: [ObjectIdentifier: BytePath] = [:]

  init(_ model: DiskModel, after loss: DiskModel.Loss, using random: Random) {
    self.model = model
    self.loss = loss
    self.random = random
  }

  /// Replaces what is in the tree's folder.
  ///
  /// - Returns: what `TraceShim.showing` has to be given.
  mutating func build() throws -> [UInt8] {
    // Names may be any bytes, which `rm` removes and Foundation doesn't.
    let path = model.root.description
    let remove = Process()
    remove.executableURL = URL(fileURLWithPath: "/usr/bin/find")
    remove.arguments = [path, "-mindepth", "1", "-delete"]
    try remove.run()
    remove.waitUntilExit()
    guard remove.terminationStatus == 0 else { throw TraceError("\(path) can't be emptied.") }
    try fill(model.root, from: model.top)
    var shown: [UInt8] = []
    try noteShown(model.root, model.top, into: &shown)
    return shown
  }

  private func names(of node: DiskModel.Node) -> [BytePath: DiskModel.Node] {
    loss == .everything ? node.flushedNames : node.names
  }

  private mutating func fill(_ path: BytePath, from folder: DiskModel.Node) throws {
    for (name, node) in names(of: folder).sorted(by: { $0.key < $1.key }) {
      let inner = path.appending(name)
      if let known = made[ObjectIdentifier(node)] {
        try check(known.withCString { old in inner.withCString { link(old, $0) } }, inner)
        continue
      }
      made[ObjectIdentifier(node)] = inner
      let (mode, modified) =
        loss == .everything
        ? (node.flushed.mode, node.flushed.modified) : (node.mode, node.modified)
      if node.isFolder {
        try check(inner.withCString { mkdir($0, 0o700) }, inner)
        try fill(inner, from: node)
      } else {
        let descriptor = inner.withCString { open($0, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600) }
        try check(descriptor, inner)
        defer { close(descriptor) }
        let bytes = node.content(after: loss, using: &random)
        try check(bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }, inner)
        let time = timespec(
          tv_sec: Int(modified / 1_000_000_000), tv_nsec: Int(modified % 1_000_000_000))
        try check(futimens(descriptor, [time, time]), inner)
      }
      try check(inner.withCString { chmod($0, mode) }, inner)
    }
  }

  /// Last of all, as every link changes the time.
  private func noteShown(
    _ path: BytePath, _ folder: DiskModel.Node, into shown: inout [UInt8]
  ) throws {
    let here = try Descriptor.openFolder(path)
    for (name, node) in names(of: folder) {
      if node.isFolder {
        try noteShown(path.appending(name), node, into: &shown)
        continue
      }
      let now = try here.status(of: name).identity
      let changed = loss == .everything ? node.flushed.changed : node.changed
      for number in [
        now.inode, UInt64(bitPattern: now.changed), node.inode,
        UInt64(bitPattern: changed),
      ] {
        withUnsafeBytes(of: number) { shown += $0 }
      }
    }
  }

  private func check(_ result: some BinaryInteger, _ path: BytePath) throws {
    guard result >= 0 else { throw TraceError("“\(path.printable)” can't be made: \(errno).") }
  }
}
