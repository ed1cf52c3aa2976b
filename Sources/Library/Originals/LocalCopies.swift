package import Files
import Glibc
import PipelineModel
import Synchronization

/// The cache of files that are in a bucket, opened when it is needed, and again if its folder was replaced.
package final class LocalCopies: Sendable {
  /// The library's folder, which contains `cache/`.
  package let library: Descriptor
  private let budget: Int
  private let opened = Mutex<OriginalCache?>(nil)

  /// - Parameter budget: the most bytes of local copies.
  package init(in library: Descriptor, budget: Int) {
    self.library = library
    self.budget = budget
  }

  /// - Throws: `FileError` of code `unavailable` without the library's folder.
  func cache() throws(FileError) -> OriginalCache {
    if let cache = opened.withLock({ $0 }), cache.isInPlace(in: library) { return cache }
    let cache: OriginalCache
    do throws(FileError) {
      cache = try OriginalCache(in: library, budget: budget)
    } catch let error where error.code == .notFound {
      throw FileError(.unavailable, error.message, path: error.path)
    }
    return opened.withLock { opened in
      // Another thread may have been faster.
      if let opened, opened.isInPlace(in: library) { return opened }
      opened = cache
      return cache
    }
  }

  /// The cache; `nil` in a library that can't be written.
  package func cacheIfWritable() throws(FileError) -> OriginalCache? {
    do throws(FileError) { return try cache() } catch {
      guard [.readOnly, .permission].contains(error.code) else { throw error }
      return nil
    }
  }

  /// Makes an empty file without a name: in the cache or, in a library that can't be written, as in a backup, in the
  /// folder for temporary files.
  package func makeNamelessFile() throws(FileError) -> Descriptor {
    if let cache = try cacheIfWritable() { return try cache.makeNamelessFile() }
    let (file, folder, name) = try Self.makeTemporaryFile()
    try folder.remove(name)
    return file
  }

  /// Makes an empty file in the folder for temporary files.
  static func makeTemporaryFile() throws(FileError) -> (Descriptor, in: Descriptor, BytePath) {
    let place = getenv("TMPDIR").map { BytePath(cString: $0) } ?? "/tmp"
    let folder = try Descriptor.openFolder(place)
    let name = BytePath(".pipeline-\(String(UInt64.random(in: .min ... .max), radix: 16))")
    let file = try Descriptor.open(
      name, in: folder, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    return (file, folder, name)
  }
}
