package import Files
import Hashing
package import ObjectStorage
package import Originals
package import PipelineModel

/// Renditions as objects in an S3 bucket: `renditions/<stage>/ab/…` below the location's prefix, by the names of
/// `RenditionLayout`.
///
/// The path of each begins with the name of its place, so that it is known where it is, whatever the configuration says
/// by then.
package final class RenditionBucket: RenditionStore {
  private let bucket: OwnedBucket
  private let copies: LocalCopies
  private let prefix: String

  /// What the paths of all renditions in buckets begin with.
  package static let scheme = "s3://"

  /// - Parameters:
  ///   - library: the folder with `cache/`, for local copies.
  ///   - cacheBudget: the most bytes of local copies.
  package init(_ bucket: OwnedBucket, library: Descriptor, cacheBudget: Int) {
    self.bucket = bucket
    copies = LocalCopies(in: library, budget: cacheBudget)
    prefix = "\(bucket.location.name)/"
  }

  package var place: String { prefix + RenditionLayout.root }

  package var isOnServer: Bool { true }

  package var callsAtOnce: Int { 8 }

  /// Whether a path is one of this place.
  func has(_ path: String) -> Bool { path.hasPrefix("\(place)/") }

  /// Makes sure that the place is this library's.
  ///
  /// - Throws: `FileError` of code `unavailable`.
  package func claim() throws(FileError) { try bucket.requireOwn() }

  package func put(_ renditions: [IncomingRendition]) throws(FileError) -> [String] {
    if renditions.isEmpty { return [] }
    try bucket.requireOwn()
    let client = try bucket.client()
    let results = renditions.map(width: callsAtOnce) { [prefix] rendition in
      Result { () throws(FileError) in
        let key = RenditionLayout.path(of: rendition.name).description
        try Self.put(rendition.content, as: key, by: client, prefix)
        return prefix + key
      }
    }
    var paths: [String] = []
    for result in results { paths.append(try result.get()) }
    return paths
  }

  private static func put(
    _ content: IncomingRendition.Content, as key: String, by client: S3Client, _ prefix: String
  ) throws(FileError) {
    switch content {
    case .bytes(let bytes):
      _ = try client.put(
        .bytes(bytes), as: key, digest: SHA256.digest(of: bytes), isNew: false)
    case .file(let file, _, _, let digest), .copy(let file, let digest):
      _ = try client.put(
        file, size: file.status().identity.size, as: key, digest: digest, isNew: false)
    case .stored(let path, _):
      try client.copy(String(path.dropFirst(prefix.count)), to: key)
    }
  }

  // MARK: Reading

  package func open(_ path: String, copyOf digest: Digest?) throws(FileError) -> Descriptor {
    if let digest {
      do throws(FileError) {
        if let copy = try lease(path, digest) { return try copy.open() }
      } catch let error where error.code == .changed {
        // Whoever asks compares the bytes.
      }
    }
    let file = try copies.makeNamelessFile()
    try fetch(path, to: file)
    try file.seek(to: 0)
    return file
  }

  /// Returns a local copy of a rendition for as long as it is kept.
  ///
  /// - Returns: `nil` if there is no place for copies, as in a library that can't be written.
  /// - Throws: `FileError` of code `changed` if its bytes are not those of the digest.
  package func lease(_ path: String, _ digest: Digest) throws(FileError) -> LocalOriginal? {
    guard let cache = try copies.cacheIfWritable() else { return nil }
    if let copy = try cache.lease(digest) { return copy }
    return try cache.add(digest) { file, begin throws(FileError) in
      try fetch(path, to: file, began: begin)
    }
  }

  private func fetch(
    _ path: String, to file: Descriptor, began: @escaping (Int) -> Void = { _ in }
  ) throws(FileError) {
    try bucket.requireOwn()
    do throws(FileError) {
      try bucket.client().get(key(path), began: began) { piece throws(FileError) in
        try file.write(piece)
      }
    } catch let error where error.code == .notFound {
      throw FileError(
        .notFound, "“\(path.printable)” is missing from the store.", path: BytePath(path))
    }
  }

  package func size(of path: String) throws(FileError) -> Int? {
    try bucket.requireOwn()
    return try bucket.client().size(of: key(path))
  }

  package func remove(_ path: String) throws(FileError) {
    try bucket.requireOwn()
    try bucket.client().remove(key(path))
  }

  /// Returns the names below one of this place's paths, up to the next slash and with it, in no order.
  package func names(below path: String) throws(FileError) -> Set<String> {
    try bucket.requireOwn()
    return try bucket.client().names(below: "\(key(path))/")
  }

  /// Whether there is no rendition of this library.
  package func isEmpty() throws(FileError) -> Bool {
    guard try bucket.isOwned() else { return true }
    return try names(below: place).isEmpty
  }

  /// Ends uploads in parts that a killed process began; call it while nothing is stored.
  ///
  /// - Returns: how many there were.
  package func removeRemnants() throws(FileError) -> Int {
    try bucket.requireOwn()
    return try bucket.client().abandonUploads(below: "\(RenditionLayout.root)/")
  }

  private func key(_ path: String) -> String { String(path.dropFirst(prefix.count)) }
}
