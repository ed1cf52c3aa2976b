import Files
import Manifest
import PipelineModel

/// The returns that this machine has begun and the process with the manifest has not recorded, on disk.
final class ReturnJournal {
  private static let name: BytePath = "returning"
  private static let longest = 16 << 20

  private let folder: Descriptor
  private(set) var pending: [ManifestFact.Return] = []

  /// - Parameters:
  ///   - folder: that of a machine that joins.
  ///   - isOwn: whether this process is the only one that returns files; others leave it alone.
  init(in folder: Descriptor, isOwn: Bool) throws(FileError) {
    self.folder = folder
    guard isOwn, let bytes = try folder.readFileIfThere(Self.name, limit: Self.longest) else {
      return
    }
    // Without a list that can be read, assets stay, and files that are back are taken as duplicates.
    let facts = (try? JSONText.decode([String].self, from: bytes)) ?? []
    pending = facts.compactMap { text in
      if case .returning(let back)? = ManifestFact(text: text) { back } else { nil }
    }
  }

  /// Lists returns before anything is written for them.
  func begin(_ returns: [ManifestFact.Return]) throws {
    guard !returns.isEmpty else { return }
    pending += returns
    try write()
  }

  /// Ends those that are recorded, or were given up.
  func end(where isEnded: (ManifestFact.Return) -> Bool) throws {
    let count = pending.count
    pending.removeAll(where: isEnded)
    if pending.count < count { try write() }
  }

  private func write() throws {
    guard !pending.isEmpty else { return try folder.removeIfThere(Self.name) }
    let facts = pending.map { ManifestFact.returning($0).text }
    try folder.writeDurably(Array(JSONText.encode(facts).utf8), as: Self.name)
  }
}
