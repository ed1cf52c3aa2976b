import Files
import Synchronization

/// The cache of originals that are in the bucket.
extension BucketStore {
  /// - Throws: `FileError` of code `unavailable` without the library's folder.
  func cache() throws(FileError) -> OriginalCache {
    if let cache = opened.withLock({ $0 }), cache.isInPlace(in: library) { return cache }
    let cache: OriginalCache
    do throws(FileError) {
      cache = try OriginalCache(in: library, budget: cacheBudget)
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
  func cacheIfWritable() throws(FileError) -> OriginalCache? {
    do throws(FileError) { return try cache() } catch {
      guard [.readOnly, .permission].contains(error.code) else { throw error }
      return nil
    }
  }
}
