package import Catalog
package import Configuration
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

  /// - Parameters:
  ///   - sources: the configured ones.
  ///   - mounts: where disks should be mounted, and are.
  package init(
    _ reader: CatalogReader, of layout: LibraryLayout, sources: [SourceConfiguration],
    mounts: MountTable = MountTable()
  ) {
    self.reader = reader
    // What is missing is looked for once, and not for each file.
    var failures: [BytePath: any Error] = [:]
    folders = ReturnFolders(LocalSources(layout, configured: sources)) { source in
      let path = source.path
      if let failure = failures[path] { throw failure }
      do {
        if path != "/" {
          try MountGuard.checkTable(path, mounts)
          _ = try MountGuard.mountPoint(
            of: path, remembered: reader.setting(MountGuard.key(layout.recorded(path))))
        }
        return try Descriptor.openFolder(path)
      } catch {
        failures[path] = error
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
      guard try isWhole || !folders.isNamed(in: origin.source) else {
        return refusal(of: origin, ReturnRefusal.withoutFolder(origin))
      }
      let status = isWhole ? try folder.statusIfThere(of: origin.path.lastComponent) : nil
      if mayBe(origin, status) { return leaving(origin, at: origin.path) }
      // A newer file of the run comes first.
      guard status == nil, !relations.followed.contains(origin.id) else {
        return refusal(of: origin, ReturnRefusal.taken(origin))
      }
      return step(origin, at: origin.path, .return)
    } catch {
      return refusal(of: origin, "\(error)")
    }
  }

  /// Whether a file may have the bytes of an asset, by its size.
  private func mayBe(_ origin: AssetOrigin, _ status: FileStatus?) -> Bool {
    status?.kind == .regular && status?.identity.size == origin.size
  }

  private func leaving(_ origin: AssetOrigin, at path: BytePath) -> Step {
    step(
      origin, at: path, .leave,
      "A file of this size is there; if its bytes are the same, nothing is written.")
  }

  private func refusal(of origin: AssetOrigin, _ reason: String) -> Step {
    step(origin, at: origin.path, .refuse, reason)
  }

  private func step(
    _ origin: AssetOrigin, at path: BytePath, _ action: Action, _ reason: String? = nil
  ) -> Step {
    Step(
      origin: origin, place: folders.path(of: path, in: origin.source), action: action,
      reason: reason)
  }
}
