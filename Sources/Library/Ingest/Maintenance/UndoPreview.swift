package import Catalog
import Files
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
    package let action: Action
    /// Why it is not simply returned, as sentences.
    package let reason: String?
  }

  private let reader: CatalogReader
  private let mounts = MountTable()
  private let folders: ReturnFolders
  private static let pageSize = 256

  package init(_ reader: CatalogReader) {
    self.reader = reader
    folders = ReturnFolders { [mounts] source in
      if let point = try mounts.missingMount(above: source) {
        throw FileError(
          .notFound,
          "No disk is mounted at “\(point.printable)”, a mount point in /etc/fstab: mount it.",
          path: source)
      }
      return try Descriptor.openFolder(source)
    }
  }

  /// Gives one step for each asset of a run, the newest first.
  package func forEachStep(of run: AssetID, _ body: (Step) -> Void) throws {
    var last: AssetID?
    while case let page = try reader.origins(of: run, before: last, limit: Self.pageSize),
      !page.isEmpty
    {
      last = page.last?.id
      for origin in page { body(try step(for: origin)) }
    }
  }

  private func step(for origin: AssetOrigin) throws -> Step {
    func refuse(_ reason: String) -> Step { Step(origin: origin, action: .refuse, reason: reason) }
    if let path = try reader.pathLetGo(for: origin.id) {
      return refuse(ReturnRefusal.needed(origin, by: path))
    }
    do {
      let (folder, isWhole) = try folders.deepest(of: origin.path, in: origin.source)
      guard isWhole || origin.source != "/" else {
        return refuse(ReturnRefusal.withoutFolder(origin))
      }
      guard isWhole, let status = try folder.statusIfThere(of: origin.path.lastComponent) else {
        return Step(origin: origin, action: .return, reason: nil)
      }
      guard status.kind == .regular, status.identity.size == origin.size else {
        return refuse(ReturnRefusal.taken(origin))
      }
      return Step(
        origin: origin, action: .leave,
        reason: "A file of this size is there; if its bytes are the same, nothing is written.")
    } catch {
      return refuse("\(error)")
    }
  }
}
