import CLinux
import Synchronization

/// Makes the names, sizes and places of many files durable together, where that is as safe as a
/// flush of each, and quicker.
///
/// It tells nothing about the bytes of a file: `Descriptor.writePages` comes first, for each.
package final class GroupFlush: Sendable {
  private struct State {
    /// Until when files are flushed one by one.
    var restEnd: ContinuousClock.Instant?
  }

  /// From how many files on it is worth it.
  package static let fewestFiles = 8

  private let folder: Descriptor
  private let isKnown: Bool
  private let state = Mutex(State())

  /// - Parameters:
  ///   - folder: any folder of the file system; kept open.
  ///   - isKnown: whether a flush of this file system is known to be one; asked of the kernel by
  ///     default.
  package init(_ folder: Descriptor, isKnown: Bool? = nil) {
    self.folder = folder
    self.isKnown =
      isKnown ?? (KernelVersion.current >= Self.firstKernel && folder.flushesAsWhole)
  }

  /// syncfs(2) tells of errors of ext4, XFS and Btrfs from this one on. Source: Linux, commit
  /// "vfs: make sync_filesystem return errors from ->sync_fs".
  private static let firstKernel = KernelVersion(5, 17)

  /// It also waits for what other programs have written. When it takes longer than this, they
  /// write much, and files are flushed one by one for a while.
  private static func patience(for count: Int) -> Duration {
    .milliseconds(200 + 10 * count)
  }

  private static let rest = Duration.seconds(60)

  /// Whether so many files are better flushed together.
  package func serves(files count: Int) -> Bool {
    let now = ContinuousClock().now
    return isKnown && count >= Self.fewestFiles
      && state.withLock { $0.restEnd.map { now >= $0 } ?? true }
  }

  /// Waits until everything but bytes that were not written out is on disk.
  ///
  /// - Parameter count: how many files would be flushed otherwise.
  /// - Returns: `false` if nothing can be said and each file must be flushed by itself.
  package func run(files count: Int) -> Bool {
    let clock = ContinuousClock()
    let start = clock.now
    guard serves(files: count) else { return false }
    do throws(FileError) {
      try folder.syncFileSystem()
      // Without a journal ext4 writes inodes behind its flush of the disk's cache; and a file
      // system that went read-only after an error may have had nothing to say.
      try folder.sync()
    } catch {
      // The flush of each file finds out which it was.
      return false
    }
    let end = clock.now
    if end - start > Self.patience(for: count) {
      state.withLock { $0.restEnd = end + Self.rest }
    }
    return true
  }
}

extension Descriptor {
  /// Waits until all of the file's file system is on disk. Source: syncfs(2).
  fileprivate func syncFileSystem() throws(FileError) {
    try systemCall("sync the file system of", path) { pipeline_sync_file_system(number) }
  }

  /// Whether a flush of the whole file system makes names, sizes and places durable.
  ///
  /// Of others it is not known: most that are behind a process do nothing and report success.
  fileprivate var flushesAsWhole: Bool {
    var result = CLinux.statfs()
    guard pipeline_statfs(number, &result) == 0 else { return false }
    // ext4, XFS, Btrfs. Source: linux/magic.h.
    return [0xEF53, 0x5846_5342, 0x9123_683E].contains(Int(result.f_type))
  }
}
