import CLinux
import Glibc
import Synchronization

/// Makes names, sizes and locations of many files durable together, where that is as safe as
/// flushing each, and faster.
///
/// It does not cover the files' bytes: call `Descriptor.writePages` first, for each file.
package final class GroupFlush: Sendable {
  private struct State {
    /// Until when files are flushed one by one.
    var restEnd: ContinuousClock.Instant?
  }

  /// The fewest files for which it pays.
  package static let fewestFiles = 8

  private let folder: Descriptor
  private let isKnown: Bool
  private let state = Mutex(State())

  /// - Parameters:
  ///   - folder: any folder of the file system; kept open.
  ///   - isKnown: whether flushing this file system is known to work; detected by default.
  package init(_ folder: Descriptor, isKnown: Bool? = nil) {
    self.folder = folder
    self.isKnown =
      isKnown ?? (KernelVersion.current >= Self.firstKernel && folder.flushesAsWhole)
  }

  /// syncfs(2) reports errors of ext4, XFS and Btrfs since this version. Source: Linux, commit
  /// "vfs: make sync_filesystem return errors from ->sync_fs".
  private static let firstKernel = KernelVersion(5, 17)

  /// syncfs(2) also waits for other programs' writes. If it takes longer than this, they write a
  /// lot, and files are flushed one by one for a while.
  private static func patience(for count: Int) -> Duration {
    .milliseconds(200 + 10 * count)
  }

  private static let rest = Duration.seconds(60)

  /// Whether this many files are better flushed together.
  package func serves(files count: Int) -> Bool {
    let now = ContinuousClock().now
    return isKnown && count >= Self.fewestFiles
      && state.withLock { $0.restEnd.map { now >= $0 } ?? true }
  }

  /// Waits until everything but unwritten file bytes is on disk.
  ///
  /// - Parameter count: how many files would otherwise be flushed.
  /// - Returns: `false` if the result is unknown and each file must be flushed by itself.
  package func run(files count: Int) -> Bool {
    let clock = ContinuousClock()
    let start = clock.now
    guard serves(files: count) else { return false }
    do throws(FileError) {
      try folder.syncFileSystem()
      // Without a journal, ext4 writes inodes after it flushes the disk's cache; and a file system
      // that went read-only after an error may have reported nothing.
      try folder.sync()
    } catch {
      // Flushing each file finds out which one failed.
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
  /// Waits until the file's whole file system is on disk. Source: syncfs(2).
  fileprivate func syncFileSystem() throws(FileError) {
    try systemCall("sync the file system of", path) { pipeline_sync_file_system(number) }
  }

  /// Whether flushing the whole file system makes names, sizes and locations durable.
  ///
  /// For others this is unknown: most file systems behind a process do nothing and report success.
  fileprivate var flushesAsWhole: Bool {
    var result = CLinux.statfs()
    guard pipeline_statfs(number, &result) == 0 else { return false }
    // ext4, XFS, Btrfs. Source: linux/magic.h.
    return [0xEF53, 0x5846_5342, 0x9123_683E].contains(Int(result.f_type))
  }
}

struct KernelVersion: Comparable {
  let major: Int
  let minor: Int

  init(_ major: Int, _ minor: Int) {
    self.major = major
    self.minor = minor
  }

  /// Parses a release such as `6.1.0-18-amd64`; anything else counts as 0.0.
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
