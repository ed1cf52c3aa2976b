package import Files
package import PipelineModel

/// Renditions in the library's folder and in buckets: new ones go where the configuration has them, and others are
/// found wherever they were put.
package struct RenditionPlaces: RenditionStore {
  private let folder: any RenditionStore
  /// Where new ones go; `nil` for the folder.
  package let bucket: RenditionBucket?
  /// Where others may be.
  package let former: [RenditionBucket]

  /// - Parameter former: buckets that had the library's renditions before.
  package init(
    folder: any RenditionStore, bucket: RenditionBucket?, former: [RenditionBucket] = []
  ) {
    self.folder = folder
    self.bucket = bucket
    self.former = former.filter { $0.place != bucket?.place }
  }

  private var current: any RenditionStore { bucket ?? folder }

  package var place: String { current.place }

  package var isOnServer: Bool { current.isOnServer }

  package var callsAtOnce: Int { current.callsAtOnce }

  package func put(_ renditions: [IncomingRendition]) throws(FileError) -> [String] {
    // Past the cache, which has room for what is looked at.
    let width = renditions.contains(where: isElsewhere) ? 8 : 1
    let results = renditions.map(width: width) { rendition in
      Result { () throws(FileError) in
        guard case .stored(let path, let digest) = rendition.content, isElsewhere(rendition) else {
          return rendition
        }
        return IncomingRendition(
          name: rendition.name, content: .copy(of: try open(path, copyOf: nil), digest: digest))
      }
    }
    var incoming: [IncomingRendition] = []
    for result in results { incoming.append(try result.get()) }
    return try current.put(incoming)
  }

  private func isElsewhere(_ rendition: IncomingRendition) -> Bool {
    if case .stored(let path, _) = rendition.content { !isCurrent(path) } else { false }
  }

  private func isCurrent(_ path: String) -> Bool {
    bucket.map { $0.has(path) } ?? !path.hasPrefix(RenditionBucket.scheme)
  }

  package func open(_ path: String, copyOf digest: Digest?) throws(FileError) -> Descriptor {
    try store(of: path).open(path, copyOf: digest)
  }

  package func size(of path: String) throws(FileError) -> Int? {
    try store(of: path).size(of: path)
  }

  package func remove(_ path: String) throws(FileError) { try store(of: path).remove(path) }

  /// The bucket where new ones go, and those that had the library's renditions before.
  package var buckets: [RenditionBucket] {
    [bucket].compactMap(\.self) + former
  }

  /// Returns the bucket with a rendition; `nil` if it is in the folder.
  ///
  /// - Throws: `FileError` of code `unavailable` if it is in a bucket that is not known.
  package func bucket(of path: String) throws(FileError) -> RenditionBucket? {
    guard path.hasPrefix(RenditionBucket.scheme) else { return nil }
    for bucket in buckets where bucket.has(path) { return bucket }
    let now = bucket.map { "“\($0.place.printable)”" } ?? "the library's folder"
    throw FileError(
      .unavailable,
      "“\(path.printable)” is not in \(now), where the configuration has renditions: `pipeline run` moves it there, "
        + "unless \"renditions\" is corrected.", path: BytePath(path))
  }

  private func store(of path: String) throws(FileError) -> any RenditionStore {
    try bucket(of: path) ?? folder
  }
}

/// The places that may have a library's renditions, as its catalog notes them: the one where new ones go comes last.
///
/// A former one is forgotten once `gc` has found it empty.
package struct NotedPlaces: Equatable, Sendable {
  /// Buckets; `nil` for the library's folder.
  private var places: [BucketLocation?]

  /// The catalog's setting.
  package static let setting = "renditions.places"

  /// Reads a setting; without one, all are in the library's folder.
  package init(_ text: String?) {
    // What another version noted, and this one can't read, is not known to it.
    var places: [BucketLocation?] = []
    for word in (text ?? RenditionLayout.root).split(separator: " ") {
      if word == RenditionLayout.root {
        places.append(nil)
      } else if let bucket = try? BucketLocation(String(word)) {
        places.append(bucket)
      }
    }
    self.places = places
  }

  /// What the catalog notes.
  package var text: String {
    places.map { $0?.description ?? RenditionLayout.root }.joined(separator: " ")
  }

  /// Where new renditions go.
  package var current: String { Self.place(of: places.last ?? nil) }

  /// All buckets.
  package var buckets: [BucketLocation] { places.compactMap(\.self) }

  /// What the paths of a place's renditions begin with, followed by a slash.
  private static func place(of bucket: BucketLocation?) -> String {
    bucket.map { "\($0.name)/\(RenditionLayout.root)" } ?? RenditionLayout.root
  }

  /// Has new ones go to another place. The library's folder is looked through whether it is noted or not.
  package mutating func add(_ bucket: BucketLocation?) {
    places = places.filter { $0 != nil && $0?.name != bucket?.name }
    places.append(bucket)
  }

  /// Forgets a former place.
  package mutating func forget(_ place: String) {
    places = places.dropLast().filter { Self.place(of: $0) != place } + places.suffix(1)
  }
}
