import CLinux
import Glibc
import Synchronization

/// Flushes the file system once instead of each of many files, where that is as safe and quicker.
///
/// It tells nothing about a single file: `Descriptor.checkWritten` does, for each.
package final class GroupFlush: Sendable {
  private struct State {
    /// Until when files are flushed one by one.
    var restEnd: ContinuousClock.Instant?
  }

  /// From how many files on it is worth it.
  package static let fewestFiles = 8
  /// A flush also waits for what other programs have written. One that takes longer than this
  /// says that they write much, and files are flushed one by one for a while.
  private static let patience = Duration.seconds(2)
  private static let rest = Duration.seconds(60)

  private let folder: Descriptor
  private let isKnown: Bool
  private let state = Mutex(State())

  /// - Parameter folder: any folder of the file system; kept open.
  package init(_ folder: Descriptor) {
    self.folder = folder
    isKnown = KernelVersion.current >= Self.firstKernel && folder.flushesAsWhole
  }

  /// syncfs(2) tells of errors of ext4, XFS and Btrfs from this one on. Source: Linux, commit
  /// "vfs: make sync_filesystem return errors from ->sync_fs".
  private static let firstKernel = KernelVersion(5, 17)

  /// Waits until everything that was written before is on disk.
  ///
  /// - Parameter count: how many files would be flushed otherwise.
  /// - Returns: `false` if nothing can be said and each file must be flushed by itself.
  package func run(files count: Int) -> Bool {
    let clock = ContinuousClock()
    let start = clock.now
    guard isKnown, count >= Self.fewestFiles,
      state.withLock({ $0.restEnd.map { start >= $0 } ?? true })
    else { return false }
    do throws(FileError) {
      try folder.syncFileSystem()
    } catch {
      // The flush of each file finds out which it was.
      return false
    }
    let end = clock.now
    if end - start > Self.patience { state.withLock { $0.restEnd = end + Self.rest } }
    return true
  }
}

/// A version of the running kernel, as far as interfaces depend on it.
struct KernelVersion: Comparable {
  let major: Int
  let minor: Int

  init(_ major: Int, _ minor: Int) {
    self.major = major
    self.minor = minor
  }

  /// Reads a release such as `6.1.0-18-amd64`; anything else counts as 0.0.
  init(release: String) {
    let numbers = release.split(separator: ".", maxSplits: 2).map { part in
      Int(part.prefix { $0.isNumber && $0.isASCII }) ?? 0
    }
    self.init(numbers.first ?? 0, numbers.dropFirst().first ?? 0)
  }

  /// The running kernel's. Source: uname(2).
  static let current: KernelVersion = {
    var name = utsname()
    guard uname(&name) == 0 else { return KernelVersion(0, 0) }
    let release = withUnsafeBytes(of: name.release) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    return KernelVersion(release: release)
  }()

  static func < (left: KernelVersion, right: KernelVersion) -> Bool {
    (left.major, left.minor) < (right.major, right.minor)
  }
}

extension Descriptor {
  /// Waits until all of the file's file system is on disk. Source: syncfs(2).
  package func syncFileSystem() throws(FileError) {
    try systemCall("sync the file system of", path) { pipeline_sync_file_system(number) }
  }

  /// Waits for writes of the file's bytes that are under way, and reports the first failure that
  /// was not reported yet, as a flush would; begins no write. Source: sync_file_range(2).
  package func checkWritten() throws(FileError) {
    try systemCall("sync", path) { pipeline_wait_for_writes(number) }
  }

  /// Whether a flush of the whole file system makes files, names and journal durable.
  ///
  /// Of others it is not known: most that are behind a process do nothing and report success.
  fileprivate var flushesAsWhole: Bool {
    var result = CLinux.statfs()
    guard pipeline_statfs(number, &result) == 0 else { return false }
    // ext4, XFS, Btrfs. Source: linux/magic.h.
    return [0xEF53, 0x5846_5342, 0x9123_683E].contains(Int(result.f_type))
  }
}
