import Catalog
import Files
import Hashing
import Ingest
import LibrarySession
import PipelineModel
import Records

/// The bytes of renditions and originals.
///
/// No path is made of a URL: digests and keys are looked up in the catalog, and files are opened below the
/// library's folder, through no link.
struct FileAnswers: Sendable {
  let disclosure: Disclosure

  private static let forever = Header("Cache-Control", "private, max-age=31536000, immutable")

  /// The most bytes that are read and hashed at once; others wait for it.
  private static let mostAtOnce = 256 << 10

  /// The rendition of `r/DIGEST/NUMBER/NAME`.
  func stored(
    digest: String, number: String, _ request: Request, in library: ReadableLibrary
  ) throws -> StoredRendition {
    guard let digest = Digest(digest), let id = Int64(number) else { throw HTTPError.notFound }
    let stored = try library.catalog.storedRendition(
      id, most: request.has(Self.tag(digest)) ? 0 : Self.mostAtOnce,
      withStage: disclosure.hidesPlaces)
    guard let stored, stored.record.digest == digest, disclosure.allows(stored.record) else {
      throw HTTPError(
        404, "noRendition", "There is no such rendition; it may have been made anew since.")
    }
    return stored
  }

  /// Whether reading a rendition and comparing it with its hash would keep others waiting.
  func takesTime(_ stored: StoredRendition, _ request: Request) -> Bool {
    let rendition = stored.record
    return !request.has(Self.tag(rendition.digest))
      && (rendition.path != nil || rendition.bytes > Self.mostAtOnce)
  }

  /// The bytes of a rendition, compared with their hash.
  func answer(
    _ stored: StoredRendition, _ request: Request, in library: ReadableLibrary
  ) throws -> Response {
    let rendition = stored.record
    let tag = Self.tag(rendition.digest)
    let validators = [Header("ETag", tag), Self.forever]
    // Before the bytes are read: whoever has them needs no others.
    if request.has(tag) { return Response(304, validators) }
    guard let content = try content(of: stored, in: library) else {
      // What was just fetched had to make room for others.
      throw rendition.isInBucket ? HTTPError.busy : .damagedRendition
    }
    let headers = validators + Self.type(rendition.mediaType) + Protection.bytes
    switch content {
    case .bytes(let bytes): return Response(200, headers, .bytes(ResponseBytes(bytes)))
    case .file(let file): return Response(200, headers, .file(file, 0..<rendition.bytes))
    }
  }

  /// Returns the bytes; `nil` if they are missing or damaged. Of a rendition in a bucket, only a local copy is looked for.
  private func content(
    of stored: StoredRendition, in library: ReadableLibrary
  ) throws -> VerifiedRendition? {
    guard stored.record.isInBucket else {
      return try RenditionReader(of: library.library, library.catalog).content(of: stored)
    }
    return try library.library.openLocalCopy(stored.record.digest).map { .file($0) }
  }

  /// `o/ID`: an original as a download, whole or in part. Source: RFC 9110, sections 13 and 14.
  func original(
    _ id: AssetID, _ request: Request, in library: ReadableLibrary
  ) throws -> Response {
    try disclosure.requireOriginals()
    guard let asset = try library.catalog.asset(id) else { throw HTTPError.noAsset }
    let tag = Self.tag(asset.digest)
    let headers =
      [
        Header("ETag", tag), Header("Accept-Ranges", "bytes"),
        Header("Cache-Control", "private, no-cache"),
      ]
    if request.has(tag) { return Response(304, headers) }
    let found: Descriptor?
    do throws(FileError) {
      found = try library.library.openLocalOriginal(asset.digest)
    } catch {
      guard error.code == .notFound else { throw error }
      throw HTTPError(
        404, "missing", "The original is missing from the library; `pipeline verify` says more.")
    }
    // What was just fetched had to make room for others.
    guard let file = found else { throw HTTPError.busy }
    let size = try file.status().identity.size
    // Opened by itself it is a download, but a page can play it.
    let type = asset.identity?["mediaType"]?.string ?? ""
    let all =
      headers + [
        Header("Content-Type", BrowserType.films.contains(type) ? type : BrowserType.download),
        BrowserType.disposition(asset.name.description),
      ] + Protection.bytes
    // A range of another version is of no use.
    let isSame = request.fields.ifRange.map { $0 == tag } ?? true
    switch ByteRange(isSame ? request.fields.range : nil, size: size) {
    case .whole: return Response(200, all, .file(file, 0..<size))
    case .part(let range):
      return Response(
        206,
        all + [
          Header("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)")
        ], .file(file, range))
    case .unsatisfiable:
      return Response(
        416, headers + [Header("Content-Range", "bytes */\(size)")])
    }
  }

  private static func tag(_ digest: Digest) -> String { "\"\(digest.hex)\"" }

  /// The type that a browser is told: what it may show, or a download.
  private static func type(_ mediaType: String) -> [Header] {
    BrowserType.all.contains(mediaType)
      ? [Header("Content-Type", mediaType)]
      : [Header("Content-Type", BrowserType.download), Header("Content-Disposition", "attachment")]
  }
}
