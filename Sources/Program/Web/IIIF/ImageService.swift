import Catalog
import Hashing
import Ingest
import LibrarySession
import PipelineModel
import Records

/// Answers below `iiif/3/`: images of any size, by IIIF's Image API, and albums, by its Presentation API.
///
/// Pages of other sites may read images: an address has the key of an asset, which can't be guessed. They may
/// not read albums, whose names can be.
struct ImageService: Sendable {
  private let launch: WebLaunch
  private let pool: QueryPool
  private let pictures: SharedPictures

  init(_ launch: WebLaunch, pool: QueryPool, pictures: SharedPictures) {
    self.launch = launch
    self.pool = pool
    self.pictures = pictures
  }

  func reply(to request: Request) -> Reply {
    let path = request.target.path.dropFirst(2)
    do throws(HTTPError) {
      if path.first == "album" {
        guard path.count == 3, path.last == "manifest.json" else { throw .notFound }
        return album(path[path.startIndex + 1], request)
      }
      guard let id = path.first.flatMap({ AssetID($0) }) else { throw .noAsset }
      let rest = path.dropFirst()
      if rest.isEmpty {
        return .now(
          Response(
            303, [Header("Location", "\(base(request))\(id)/info.json"), Self.isShared]))
      }
      if rest == ["info.json"] { return information(id, request) }
      return image(id, try ImageParameters(rest), request)
    } catch {
      return .now(Self.response(to: error))
    }
  }

  // MARK: Answers

  private func information(_ id: AssetID, _ request: Request) -> Reply {
    asking { library in
      let information = ImageInformation(
        id: base(request) + id.description, size: try Self.size(try Self.asset(id, in: library)),
        most: launch.maxPixelSize)
      return Self.document(
        information.members, context: ImageInformation.context, Self.shared + [Self.profile],
        request)
    }
  }

  private func album(_ name: String, _ request: Request) -> Reply {
    asking(within: QueryPool.longPatience, isShared: false) { library in
      let manifest = try AlbumManifest(
        name, base: base(request), most: launch.maxPixelSize, in: library)
      return Self.document(
        manifest.members, context: AlbumManifest.context, Protection.bytes, request)
    }
  }

  private func image(
    _ id: AssetID, _ parameters: ImageParameters, _ request: Request
  ) -> Reply {
    .later { exchange in
      pool.ask { library in
        let asset = try Self.asset(id, in: library)
        let image = try ResolvedImage(
          parameters, of: try Self.size(asset), most: launch.maxPixelSize)
        return (asset.digest, image)
      } completion: { (result: Result<(Digest, ResolvedImage), any Error>) in
        switch result {
        case .failure(let error):
          exchange.answer(Self.response(to: HTTPError(for: error)))
        case .success(let (digest, image)):
          let headers = headers(digest, image, "\(base(request))\(id)/\(image.canonical)")
          // Whoever has it needs no other, even if it would have to be made.
          if request.has(Self.tag(digest, image)) {
            return exchange.answer(Response(304, headers, .bytes(.empty)))
          }
          let key = SharedPictures.Key(asset: id, request: image.request)
          let ticket = pictures.makeTicket()
          exchange.whenGone { pictures.withdraw(key, ticket) }
          pictures.picture(key, ticket) { result in
            exchange.answer(Self.response(to: result, headers))
          }
        }
      }
    }
  }

  /// Answers with what a question to the catalog gives.
  private func asking(
    within limit: Duration = QueryPool.patience, isShared: Bool = true,
    _ body: @escaping @Sendable (ReadableLibrary) throws -> Response
  ) -> Reply {
    .later { exchange in
      pool.ask(within: limit, body) { result in
        switch result {
        case .success(let response): exchange.answer(response)
        case .failure(let error):
          exchange.answer(Self.response(to: HTTPError(for: error), isShared: isShared))
        }
      }
    }
  }

  private static func asset(_ id: AssetID, in library: ReadableLibrary) throws -> AssetRecord {
    guard let asset = try library.catalog.asset(id) else { throw HTTPError.noAsset }
    return asset
  }

  private static func size(_ asset: AssetRecord) throws(HTTPError) -> PictureKey.Size {
    guard let size = ImageInformation.size(of: asset) else {
      throw HTTPError(
        404, "noPicture", "This is no picture, or nothing is known of it yet.")
    }
    return size
  }

  private static func response(
    to result: SharedPictures.Result, _ headers: [Header]
  ) -> Response {
    switch result {
    case .picture(let bytes, let mediaType):
      return Response(200, headers + [Header("Content-Type", mediaType)], .bytes(bytes))
    case .busy: return response(to: .busy)
    case .refused(let refusal):
      switch refusal.kind {
      case .badRequest: return response(to: .badRequest(refusal.reason))
      case .noAsset: return response(to: .noAsset)
      case .noPicture: return response(to: HTTPError(404, "noPicture", refusal.reason))
      case .busy: return response(to: .busy)
      case .failed:
        ServerLog.shared.write(refusal.reason)
        return response(
          to: HTTPError(500, "failed", "No picture can be made now; the server's log says why."))
      }
    }
  }

  private static func response(to error: HTTPError, isShared: Bool = true) -> Response {
    let value: JSONValue = [
      "error": ["code": .string(error.code), "message": .string(error.message)]
    ]
    var bytes: [UInt8] = []
    value.write(to: &bytes)
    let headers = [
      Header("Content-Type", "application/json"), Header("Cache-Control", "no-store"),
    ]
    return Response(
      error.status, headers + (isShared ? shared : Protection.bytes) + error.headers,
      .bytes(ResponseBytes(bytes)))
  }

  /// JSON, or JSON-LD for a client that asks for that. Source: IIIF Image API 3.0, section 5.1.
  private static func document(
    _ value: JSONValue, context: String, _ headers: [Header], _ request: Request
  ) -> Response {
    var bytes: [UInt8] = []
    value.write(to: &bytes)
    let isLinked = request.fields.accept?.lowercased().contains("application/ld+json") == true
    let type = isLinked ? "application/ld+json;profile=\"\(context)\"" : "application/json"
    let tag = ContentTag.of(bytes)
    let all =
      headers + [
        Header("Content-Type", type), Header("ETag", "W/\(tag)"), Header("Vary", "Accept"),
        Header("Cache-Control", "private, no-cache"),
      ]
    if request.has(tag) { return Response(304, all, .bytes(.empty)) }
    return Response(200, all, .bytes(ResponseBytes(bytes)))
  }

  // MARK: Headers

  /// The address that all others begin with, as this client knows the server.
  private func base(_ request: Request) -> String {
    let host = request.fields.hosts.first ?? ""
    return "\(launch.isSecure ? "https" : "http")://\(host)\(launch.base)iiif/3/"
  }

  private static let isShared = Header("Access-Control-Allow-Origin", "*")

  /// Those of bytes that pages of other sites may show and read.
  private static let shared: [Header] =
    Protection.bytes.map { header in
      header.name == "Cross-Origin-Resource-Policy"
        ? Header("Cross-Origin-Resource-Policy", "cross-origin") : header
    } + [isShared]

  private static let profile = Header("Link", "<\(ImageInformation.profile)>;rel=\"profile\"")

  /// How long a client may keep an image without asking: an original never changes, but a newer program may
  /// show it a little differently.
  private static let month = 30 * 86_400

  private func headers(
    _ digest: Digest, _ image: ResolvedImage, _ canonical: String
  ) -> [Header] {
    Self.shared + [
      Header("ETag", "W/\(Self.tag(digest, image))"),
      Header("Cache-Control", "private, max-age=\(Self.month)"),
      Header(
        "Link", "<\(ImageInformation.profile)>;rel=\"profile\", <\(canonical)>;rel=\"canonical\""),
    ]
  }

  /// The original's digest, and a hash of what else decides what is shown.
  private static func tag(_ digest: Digest, _ image: ResolvedImage) -> String {
    let rest = SHA256.digest(of: Array("\(image.canonical) \(programVersion)".utf8))
    return "\"\(digest.hex)-\(rest.hex.prefix(16))\""
  }
}
