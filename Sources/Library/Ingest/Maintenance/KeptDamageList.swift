import Files
import PipelineModel
import Synchronization

/// The list of damage as it was read last, for as long as its file is the same: a long one takes a tenth of a
/// second to read.
package final class KeptDamageList: Sendable {
  private let state = Mutex<(file: FileIdentity, list: DamageList)?>(nil)

  package init() {}

  package func read(in library: LibraryFolder) -> DamageList {
    // Before it is read: a file that is replaced meanwhile is read again the next time.
    guard let file = try? library.folder.statusIfThere(of: DamageList.name)?.identity else {
      return DamageList()
    }
    if let (known, list) = state.withLock({ $0 }), known.isSameFile(as: file) { return list }
    guard let list = DamageList.readWhole(in: library.folder) else { return DamageList() }
    state.withLock { $0 = (file, list) }
    return list
  }
}
