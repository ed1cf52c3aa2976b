package import Catalog
package import Files
package import PipelineModel
package import Records

/// Says what `Undo` would do with a run's imports, without the library's lock.
///
/// It looks at names and sizes alone: whether bytes are the same, and originals whole, only `Undo` reads.
package struct UndoPreview {
  package enum Action: String, Sendable {
    /// The file would be back where it came from.
    case `return`
    /// A file of the same size is there, which would be left if it has the same bytes, and otherwise be in the way.
    case leave
    /// It would not be returned.
    case refuse
  }

  package struct Step: Sendable {
    package let origin: AssetOrigin
    /// Where the file would be.
    package let place: BytePath
    package let action: Action
    /// Why it is not simply returned, as sentences.
    package let reason: String?
  }

  private let reader: CatalogReader
  private let folders: ReturnFolders
  private static let pageSize = 256

  /// - Parameter mounts: where disks should be mounted, and are.
  package init(_ reader: CatalogReader, mounts: MountTable = MountTable()) {
    self.reader = reader
    // What is missing is looked for once, and not for each file.
    var failures: [BytePath: any Error] = [:]
    folders = ReturnFolders { source in
      if let failure = failures[source] { throw failure }
      do {
        if source != "/" {
          try MountGuard.checkTable(source, mounts)
          _ = try MountGuard.mountPoint(
            of: source, remembered: reader.setting(MountGuard.key(source)))
        }
        return try Descriptor.openFolder(source)
      } catch {
        failures[source] = error
        throw error
      }
    }
  }

  /// Gives one step for each asset of a run, the newest first.
  package func forEachStep(of run: AssetID, _ body: (Step) -> Void) throws {
    var last: AssetID?
    while case let page = try reader.origins(of: run, before: last, limit: Self.pageSize),
      let newest = page.first?.id, let oldest = page.last?.id
    {
      last = oldest
      let relations = try reader.relations(ofOrigins: run, from: oldest, through: newest)
      for origin in page { body(step(for: origin, relations)) }
    }
  }

  private func step(for origin: AssetOrigin, _ relations: OriginRelations) -> Step {
    if let path = relations.letGo[origin.id] {
      return refusal(of: origin, ReturnRefusal.needed(origin, by: path))
    }
    do {
      for path in relations.otherPaths[origin.id] ?? [] {
        let (folder, isWhole) = try folders.deepest(of: path, in: origin.source)
        if isWhole, try mayBe(origin, folder.statusIfThere(of: path.lastComponent)) {
          return leaving(origin, at: path)
        }
      }
      let (folder, isWhole) = try folders.deepest(of: origin.path, in: origin.source)
      guard isWhole || origin.source != "/" else {
        return refusal(of: origin, ReturnRefusal.withoutFolder(origin))
      }
      let status = isWhole ? try folder.statusIfThere(of: origin.path.lastComponent) : nil
      if mayBe(origin, status) { return leaving(origin, at: origin.path) }
      // A newer file of the run comes first.
      guard status == nil, !relations.followed.contains(origin.id) else {
        return refusal(of: origin, ReturnRefusal.taken(origin))
      }
      return Step(origin, at: origin.path, .return)
    } catch {
      return refusal(of: origin, "\(error)")
    }
  }

  /// Whether a file may have the bytes of an asset, by its size.
  private func mayBe(_ origin: AssetOrigin, _ status: FileStatus?) -> Bool {
    status?.kind == .regular && status?.identity.size == origin.size
  }

  private func leaving(_ origin: AssetOrigin, at path: BytePath) -> Step {
    Step(
      origin, at: path, .leave,
      "A file of this size is there; if its bytes are the same, nothing is written.")
  }

  private func refusal(of origin: AssetOrigin, _ reason: String) -> Step {
    Step(origin, at: origin.path, .refuse, reason)
  }
}

extension UndoPreview.Step {
  fileprivate init(
    _ origin: AssetOrigin, at path: BytePath, _ action: UndoPreview.Action, _ reason: String? = nil
  ) {
    self.origin = origin
    self.action = action
    self.reason = reason
    place = origin.source.appending(path)
  }
}
