import Catalog
import Configuration
import Engine
import Files
import Glibc
import Hashing
package import Ingest
import Originals
import PipelineModel
import PipelinePlugin
package import PluginHost
package import Records

/// Makes pictures of any size that somebody asks for, or takes them from the cache.
///
/// Needs no lock of the library, so it works beside `run` and `watch`. Each picture is made once, however
/// many ask for it, in this process and others.
package struct PictureMaker {
  private let session: ReadingSession
  /// The memory of all workers that make pictures in this process.
  private let budget: WorkerMemoryBudget
  private let warn: (String) -> Void

  /// - Parameters:
  ///   - budget: what others that make pictures in this process share; by default nobody does.
  ///   - warn: receives a sentence when a picture can't be kept.
  package init(
    _ session: ReadingSession, sharing budget: WorkerMemoryBudget? = nil,
    warn: @escaping (String) -> Void
  ) {
    self.session = session
    self.budget =
      budget ?? WorkerMemoryBudget(most: session.setup.configuration.memoryBudget)
    self.warn = warn
  }

  /// Returns a picture of an asset.
  ///
  /// Blocks the calling thread, which must not be one of Dispatch's.
  ///
  /// - Throws: `PictureError`; `PluginFailure` if the machine lacks something or it took too long;
  ///   `FileError`.
  package func picture(
    of asset: AssetRecord, _ asked: PictureRequest
  ) throws -> (picture: CachedPicture, isStale: Bool) {
    let (request, key) = try checked(asked, of: asset)
    if let picture = try ready(asset, request) { return (picture, false) }
    let cache = cache()
    let renderer = try PictureRenderer(session.setup.configuration, sharing: budget)
    var maker = try Maker(renderer, cache)
    if let picture = found(key, in: cache) {
      if picture.maker == maker.fingerprint { return (picture, false) }
      if request.acceptsStale { return (picture, true) }
    }
    try requireAccepted(asset, by: maker.manifest)
    // Without locks, as on some network file systems, a picture may be made twice.
    let turn = try? cache?.lock(key)
    defer { withExtendedLifetime(turn) {} }
    // Whoever had the lock may have made it.
    if let picture = found(key, in: cache), picture.maker == maker.fingerprint {
      return (picture, false)
    }
    let place = try? cache?.lockPlace(
      for: key, of: session.setup.configuration.onDemand.concurrency)
    defer { withExtendedLifetime(place) {} }
    let picture: CachedPicture
    do {
      picture = try make(asset, request, by: renderer, maker, cache)
    } catch let failure as PluginFailure where failure.class == .environment && maker.isNoted {
      // The note is about another version of the plugin, or of the libraries that it uses.
      maker = try Maker(renderer, cache, asksAnew: true)
      picture = try make(asset, request, by: renderer, maker, cache)
    }
    if let cache { store(picture, key, in: cache) }
    return (picture, false)
  }

  /// Returns a picture that need not be made; `nil` if there is none, or it is outdated.
  ///
  /// - Throws: `PictureError` of code `badRequest`, `PluginFailure`, `FileError`.
  package func existing(of asset: AssetRecord, _ asked: PictureRequest) throws -> CachedPicture? {
    let (request, key) = try checked(asked, of: asset)
    if let picture = try ready(asset, request) { return picture }
    guard let cache = cache(), let picture = found(key, in: cache) else { return nil }
    let renderer = try PictureRenderer(session.setup.configuration, sharing: budget)
    return try Maker.noted(renderer, cache)?.fingerprint == picture.maker ? picture : nil
  }

  private func checked(
    _ asked: PictureRequest, of asset: AssetRecord
  ) throws(PictureError) -> (PictureRequest, PictureKey) {
    try asked.check(most: session.setup.configuration.onDemand.maxPixelSize)
    let request = try asked.canonical(size(of: asset))
    let key = PictureKey(
      digest: asset.digest, maxPixelSize: request.maxPixelSize, region: request.region,
      format: request.format, size: request.size, finish: request.finish)
    return (request, key)
  }

  /// The size of the upright original in pixels, if known.
  private func size(of asset: AssetRecord) -> (width: Int, height: Int)? {
    guard let width = asset.identity?["width"]?.integer,
      let height = asset.identity?["height"]?.integer, width > 0, height > 0
    else { return nil }
    return (width, height)
  }

  private func requireAccepted(_ asset: AssetRecord, by manifest: PluginManifest)
    throws(PictureError)
  {
    // A file that is not identified yet is tried.
    guard let type = asset.identity?["mediaType"]?.string, let accepted = manifest.accepts,
      !accepted.contains(where: { MediaType(rawValue: type).matches($0) })
    else { return }
    throw PictureError(
      .notAPicture, "No picture can be made of \(asset.id): it is of the type \(type).")
  }

  // MARK: The cache

  /// The cache; `nil` if it can't be used, which only costs time.
  private func cache() -> PictureCache? {
    do throws(FileError) {
      return try PictureCache(
        in: session.library.folder, budget: session.setup.configuration.onDemand.cache.bytes)
    } catch {
      report(error)
      return nil
    }
  }

  private func found(_ key: PictureKey, in cache: PictureCache?) -> CachedPicture? {
    do throws(FileError) {
      return try cache?.picture(key)
    } catch {
      report(error)
      return nil
    }
  }

  private func store(_ picture: CachedPicture, _ key: PictureKey, in cache: PictureCache) {
    do {
      // Like imports, pictures leave the reserve free, which the journal and the catalog need.
      let free = try session.library.folder.fileSystem().freeBytes
      guard free - picture.bytes.count >= session.setup.reserve() else { return }
      try cache.store(picture, for: key)
      // Garbage collection removes an original before its pictures. Whichever comes last, this or that,
      // sees the other.
      if try session.library.sizeOfOriginal(key.digest) == nil { try cache.remove(key) }
    } catch let error as FileError {
      report(error)
    } catch {
      warn("The picture is not kept: \(error)")
    }
  }

  /// Says why the cache can't be used, unless the library just can't be written.
  private func report(_ error: FileError) {
    guard ![.readOnly, .permission].contains(error.code) else { return }
    warn("The picture is not kept in the library. \(error.message)")
  }

  // MARK: Making

  private func make(
    _ asset: AssetRecord, _ request: PictureRequest, by renderer: PictureRenderer, _ maker: Maker,
    _ cache: PictureCache?
  ) throws -> CachedPicture {
    do {
      return try makeOnce(asset, request, by: renderer, maker, cache)
    } catch let error as PictureError
      where request.isOverview && [.damaged, .undecodable].contains(error.code)
    {
      // A thumbnail may be left of an original that can't be decoded.
      var request = request
      request.isOverview = false
      if suitable(asset, request).isEmpty { throw error }
      var picture = try makeOnce(asset, request, by: renderer, maker, cache)
      // Made anew once the original is repaired.
      if error.code == .damaged { picture.maker = "" }
      return picture
    }
  }

  private func makeOnce(
    _ asset: AssetRecord, _ request: PictureRequest, by renderer: PictureRenderer, _ maker: Maker,
    _ cache: PictureCache?
  ) throws -> CachedPicture {
    let work = try workFolder(cache)
    let source = try source(for: asset, request, in: work)
    defer { withExtendedLifetime((work, source.original)) {} }
    var options: [String: JSONValue] = [
      "format": .string(request.format.rawValue), "sizes": [Self.size(request)],
    ]
    if request.isOverview { options["scaling"] = "exact" }
    if let region = request.region {
      options["region"] = [
        .integer(region.x), .integer(region.y), .integer(region.width), .integer(region.height),
      ]
    }
    do {
      let made = try renderer.render(
        source.path,
        of: .init(
          id: asset.id, name: asset.name.description, digest: asset.digest, size: source.size),
        identity: source.isOriginal ? asset.identity : nil, manifest: maker.manifest,
        options: .object(options), in: work.folder)
      return CachedPicture(
        bytes: made.bytes, mediaType: made.mediaType, width: made.width, height: made.height,
        maker: maker.fingerprint, damage: made.damage)
    } catch let failure as PluginFailure where failure.class == .permanent {
      throw PictureError(
        .undecodable, "No picture can be made of \(asset.id). \(failure.reason)")
    }
  }

  /// The size that the plugin is asked for; what is usual is left out, for plugins that know no other.
  private static func size(_ request: PictureRequest) -> JSONValue {
    var size: [String: JSONValue] = [
      "name": "picture", "maxPixelSize": .integer(request.maxPixelSize),
    ]
    if let exact = request.size {
      size["width"] = .integer(exact.width)
      size["height"] = .integer(exact.height)
    }
    let finish = request.finish
    if finish.rotation != .none { size["rotation"] = .integer(finish.rotation.rawValue) }
    if finish.isMirrored { size["mirrored"] = true }
    if finish.quality != .color { size["tones"] = .string(finish.quality.rawValue) }
    return .object(size)
  }

  private func workFolder(_ cache: PictureCache?) throws -> PictureWorkFolder {
    if let cache {
      do throws(FileError) {
        return try cache.makeWorkFolder { WorkerPIDFile.endSurvivors(of: $0, in: $1) }
      } catch {
        report(error)
      }
    }
    let parent = getenv("TMPDIR").map { BytePath(cString: $0) } ?? "/tmp"
    return try PictureWorkFolder(in: Descriptor.openFolder(parent))
  }

  // MARK: Sources

  private struct Source {
    var path: BytePath
    var size: Int
    /// The original's file, which stays as long as this; `nil` for a rendition.
    var original: LocalOriginal?
    var isOriginal: Bool { original != nil }
  }

  /// Returns a stage's rendition if it is exactly what is asked for.
  private func ready(_ asset: AssetRecord, _ request: PictureRequest) throws -> CachedPicture? {
    guard request.finish.isNothing else { return nil }
    let exact = suitable(asset, request).first { rendition in
      let size = PictureKey.Size(width: rendition.width, height: rendition.height)
      return size.longest == request.maxPixelSize && request.size ?? size == size
        && rendition.mediaType == request.format.mediaType
    }
    guard let exact, let content = try bytes(of: exact) else { return nil }
    return CachedPicture(
      bytes: content, mediaType: exact.mediaType, width: exact.width, height: exact.height,
      maker: "")
  }

  /// Returns the smallest rendition that suffices, or the original, compared with its hash.
  private func source(
    for asset: AssetRecord, _ request: PictureRequest, in work: PictureWorkFolder
  ) throws -> Source {
    for rendition in suitable(asset, request) {
      guard let content = try bytes(of: rendition) else { continue }
      let name: BytePath = "rendition"
      let file = try Descriptor.open(
        name, in: work.folder, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o400)
      try file.write(content)
      return Source(path: file.path, size: content.count)
    }
    do throws(FileError) {
      let original = try session.library.leaseOriginal(asset.digest)
      let file = try Descriptor.open(original.path, flags: O_RDONLY | O_NOFOLLOW)
      guard try file.hash().digest == asset.digest else {
        throw FileError.damagedOriginal(original.path)
      }
      return Source(path: original.path, size: asset.size, original: original)
    } catch {
      guard [.changed, .notFound].contains(error.code) else { throw error }
      throw PictureError(.damaged, "No picture can be made of \(asset.id). \(error.message)")
    }
  }

  /// The renditions that the picture can be made of, the smallest first: of the whole upright picture, in
  /// ordinary colours, current, and at least as large.
  private func suitable(_ asset: AssetRecord, _ request: PictureRequest) -> [RenditionRecord] {
    guard request.region == nil, !request.isOverview, size(of: asset) != nil else { return [] }
    let configured = ConfiguredRenditions(session.setup.configuration.stages)
    let orientation = asset.identity?["orientation"]?.integer
    return asset.renditions.filter { rendition in
      configured.isSource(rendition, orientation: orientation)
        && max(rendition.width, rendition.height) >= request.maxPixelSize
        && rendition.width >= request.size?.width ?? 0
        && rendition.height >= request.size?.height ?? 0
        && keepsAlpha(rendition, of: asset, for: request)
    }.sorted { max($0.width, $0.height) < max($1.width, $1.height) }
  }

  /// Whether a rendition lacks no transparency that the picture is to have: JPEG has none.
  private func keepsAlpha(
    _ rendition: RenditionRecord, of asset: AssetRecord, for request: PictureRequest
  ) -> Bool {
    let jpeg = PictureKey.Format.jpeg.mediaType
    return rendition.mediaType != jpeg || request.format == .jpeg
      || asset.identity?["mediaType"]?.string == jpeg
  }

  /// A rendition's bytes; `nil` if they are missing or damaged.
  private func bytes(of rendition: RenditionRecord) throws -> [UInt8]? {
    let reader = try RenditionReader(of: session.library, session.catalog)
    return try reader.wholeBytes(of: rendition)
  }
}

/// The plugin that makes pictures, as far as it decides what they look like.
private struct Maker {
  /// What is kept in the cache, so that a picture can be found without starting a worker.
  private struct Note: Codable {
    /// The plugin's library as it was.
    var library: String
    var manifest: PluginManifest
  }

  let manifest: PluginManifest
  /// A hash of what a picture depends on besides its key.
  let fingerprint: String
  /// Whether the plugin was not asked now, but earlier.
  let isNoted: Bool

  /// - Parameter asksAnew: whether to ask the plugin, whatever was noted.
  init(
    _ renderer: PictureRenderer, _ cache: PictureCache?, asksAnew: Bool = false
  ) throws {
    if !asksAnew, let noted = try Self.noted(renderer, cache) {
      self = noted
      return
    }
    let manifest = try renderer.manifest()
    let new = Note(library: try Self.library(renderer), manifest: manifest)
    // Without the note, the plugin is asked again the next time; storing a picture says why.
    try? cache?.note(maker: Array(JSONText.encode(new).utf8))
    try self.init(manifest, isNoted: false)
  }

  /// What is noted about the plugin as it is now; `nil` if nothing is.
  static func noted(_ renderer: PictureRenderer, _ cache: PictureCache?) throws -> Maker? {
    // A note that can't be read is made anew.
    let note = (try? cache?.makerNote()).flatMap { $0 }
      .flatMap { try? JSONText.decode(Note.self, from: $0) }
    guard let note, note.library == (try library(renderer)) else { return nil }
    return try Maker(note.manifest, isNoted: true)
  }

  private init(_ manifest: PluginManifest, isNoted: Bool) throws {
    self.manifest = manifest
    self.isNoted = isNoted
    let content: JSONValue = [
      "plugin": .string(manifest.id), "version": .string(manifest.version),
      "outputVersion": .integer(manifest.outputVersion),
      "options": JSONValue.object([:]).fillingDefaults(manifest.options),
    ]
    fingerprint = SHA256.digest(of: Array(try JSONText.encode(content).utf8)).hex
  }

  private static func library(_ renderer: PictureRenderer) throws(FileError) -> String {
    let status = try FileSystem.status(of: renderer.library)
    let file = status.identity
    return "\(status.device) \(file.inode) \(file.size) \(file.modified) \(file.changed)"
  }
}
