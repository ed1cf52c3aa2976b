package import Files
package import PipelineModel

/// A store that keeps the bytes of renditions, except those that the ledger's database keeps.
///
/// All implementations pass one conformance suite.
package protocol RenditionStore: Sendable {
  /// Stores renditions; one flush serves the whole group.
  ///
  /// On return all are durable. One may take the place of an earlier one of the same name: only what
  /// was stored last has to be there.
  ///
  /// - Returns: the path under which each is found from now on, also by later processes; the ledger
  ///   records it.
  /// - Throws: `FileError`, of code `changed` if bytes that are stored already differ from their
  ///   digest. Some are stored then; the same group, or parts of it, can be stored again.
  func put(_ renditions: [IncomingRendition]) throws(FileError) -> [String]

  /// Opens a rendition for reading; the bytes stay readable even if it is removed or replaced.
  ///
  /// - Parameter digest: of its bytes, so that a local copy of them will do; `nil` to read what is stored.
  /// - Throws: `FileError` of code `notFound` if it is missing, `notRegular` if something else is in
  ///   its place.
  func open(_ path: String, copyOf digest: Digest?) throws(FileError) -> Descriptor

  /// Returns the size of a rendition in bytes, without reading it; `nil` if it is missing.
  ///
  /// - Throws: `FileError` of code `notRegular` if something else is in its place.
  func size(of path: String) throws(FileError) -> Int?

  /// Removes a rendition that no row refers to; succeeds if it is missing.
  func remove(_ path: String) throws(FileError)

  /// What the path of each begins with that is stored from now on, followed by a slash.
  var place: String { get }

  /// Whether every machine that works for the library reaches what is stored from now on.
  var isOnServer: Bool { get }

  /// How many calls are best made at the same time.
  var callsAtOnce: Int { get }
}

extension RenditionStore {
  /// Opens what is stored for reading.
  package func open(_ path: String) throws(FileError) -> Descriptor {
    try open(path, copyOf: nil)
  }
}

/// A rendition to be stored.
package struct IncomingRendition: Sendable {
  package enum Content: Sendable {
    case bytes([UInt8])
    /// A file that nobody else can write to, on the store's own file system; the store may move it.
    ///
    /// - Parameters:
    ///   - file: open for reading.
    ///   - folder: the file's folder.
    ///   - name: its name there.
    ///   - digest: of its bytes. A store that need not read them does not compare it.
    case file(_ file: Descriptor, folder: Descriptor, name: BytePath, digest: Digest)
    /// The bytes of an open file, which stays.
    case copy(of: Descriptor, digest: Digest)
    /// The bytes of a rendition of another name, which stays.
    ///
    /// - Parameters:
    ///   - path: where it is stored.
    ///   - digest: of its bytes. A store that need not read them does not compare it.
    case stored(path: String, digest: Digest)
  }

  package var name: RenditionName
  package var content: Content

  package init(name: RenditionName, content: Content) {
    self.name = name
    self.content = content
  }
}

/// What tells a rendition from all others.
package struct RenditionName: Hashable, Sendable {
  package var stage: String
  /// The original's digest or, for stages of scope `asset`, the asset's key, in hexadecimal.
  package var owner: String
  package var fingerprint: Fingerprint
  /// The name that the plugin gave it.
  package var rendition: String
  package var mediaType: String
  /// The attempt that made it, where several processes may make the same one; `nil` where there is one.
  package var attempt: Int64?

  package init(
    stage: String, owner: String, fingerprint: Fingerprint, rendition: String, mediaType: String,
    attempt: Int64? = nil
  ) {
    self.stage = stage
    self.owner = owner
    self.fingerprint = fingerprint
    self.rendition = rendition
    self.mediaType = mediaType
    self.attempt = attempt
  }
}
