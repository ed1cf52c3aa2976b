import Catalog
import Files
import Ingest
import LibrarySession
import PipelineModel
import Query
import Synchronization

/// Answers requests: checks who asks, and passes on what is asked for.
final class WebResponder: Responder {
  private let hosts: Set<String>
  let launch: WebLaunch
  let requests: RequestMetrics
  private let access: ClientAccess
  private let frame: PageFrame
  private let pool: QueryPool
  private let files: FileAnswers
  private let shared: SharedLibrary
  private let answers: JSONAnswers
  private let outlines = OutlineCache()
  private let events: EventHub
  private let channel: ParentChannel
  private let images: ImageService

  init(
    _ launch: WebLaunch, shared: SharedLibrary, pool: QueryPool, events: EventHub,
    channel: ParentChannel, requests: RequestMetrics
  ) {
    self.launch = launch
    self.shared = shared
    self.pool = pool
    self.events = events
    self.channel = channel
    self.requests = requests
    images = ImageService(launch, pool: pool, pictures: SharedPictures(channel))
    hosts = Set(launch.hosts)
    access = ClientAccess(token: launch.token)
    frame = PageFrame(base: launch.base, allowed: launch.allowed)
    files = FileAnswers(shared: shared)
    answers = JSONAnswers(sources: launch.sources)
  }

  // MARK: Checks

  func check(_ exchange: Exchange) throws(HTTPError) -> Request {
    let request = try Request(
      method: exchange.method, target: exchange.target, fields: exchange.fields, hosts: hosts)
    if request.fields.contentLength ?? 0 > HTTPDaemon.mostBody {
      throw HTTPError(413, "tooLarge", "The body is too long.")
    }
    let path = request.target.path
    let isLogin = path == ["login"] && access.isRestricted
    if request.method == .post {
      guard isLogin || path == ["api", "v1", "edit"] || path == ["api", "v1", "retry"] else {
        throw HTTPError(
          405, "method", "Nothing can be changed at this address.",
          headers: [Header("Allow", "GET, HEAD")])
      }
      try request.requireSameOrigin()
      guard isLogin || !launch.allowed.isEmpty else {
        throw HTTPError(
          403, "notAllowed", "`pipeline serve` was started without --allow: it changes nothing.")
      }
    }
    let isPublic = isLogin || path == ["healthz"] || path.first == "static"
    if !isPublic,
      !access.allows(authorization: request.fields.authorization, cookie: request.fields.cookie)
    {
      throw HTTPError(
        401, "token", "This server asks for a token.",
        headers: [Header("WWW-Authenticate", "Bearer realm=\"pipeline\"")])
    }
    return request
  }

  func response(to error: HTTPError, _ exchange: Exchange) -> Response {
    let target = try? RequestTarget(exchange.target, hosts: hosts)
    let path = target?.path ?? []
    if error.status == 401, Self.isPage(path) {
      let text = String(decoding: exchange.target.drop { $0 == UInt8(ascii: "/") }, as: UTF8.self)
      return page(401, frame.login(next: text, isWrong: false), Protection.form + error.headers)
    }
    return response(to: error, path: path)
  }

  /// Whether people rather than programs ask for an address, as they do for one that does not exist.
  private static func isPage(_ path: [String]) -> Bool {
    path.isEmpty || !["api", "healthz", "iiif", "metrics", "o", "r", "static"].contains(path[0])
  }

  private func response(to error: HTTPError, path: [String]) -> Response {
    if Self.isPage(path) {
      return page(error.status, frame.message(error), Protection.page + error.headers)
    }
    return json(
      error.status,
      ["error": ["code": .string(error.code), "message": .string(error.message)]], error.headers)
  }

  // MARK: Routes

  func respond(to request: Request, body: [UInt8]) -> Reply {
    do {
      return try route(request, body)
    } catch {
      return .now(response(to: Self.httpError(error), path: request.target.path))
    }
  }

  private func route(_ request: Request, _ body: [UInt8]) throws -> Reply {
    let path = request.target.path
    // Only `/` itself is a folder.
    guard !request.target.endsWithSlash || path.isEmpty else { throw HTTPError.notFound }
    if request.method == .post {
      return path == ["login"] ? .now(try logIn(body)) : try change(request, body)
    }
    let query = request.target.query
    switch (path.first, path.count) {
    case (nil, _):
      let page = GalleryPage(search(request), after: try id(query["after"]))
      return html(request) { [frame] in try page.write(frame, in: $0) }
    case ("day", 2):
      guard path[1].wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}/) != nil else {
        throw HTTPError.notFound
      }
      let page = GalleryPage(day: path[1], sort: query["sort"], after: try id(query["after"]))
      return html(request) { [frame] in try page.write(frame, in: $0) }
    case ("a", 2):
      let search = search(request)
      guard let id = AssetID(path[1]) else { throw HTTPError.noAsset }
      // The viewer shows facts of one picture after another, and knows the neighbors.
      let isPart = query["part"] == "facts"
      return html(request, within: QueryPool.longPatience) { [frame] in
        (200, try PicturePage(id, search, in: $0, withNeighbors: !isPart).write(frame))
      }
    case ("work", 1):
      return html(request) { [frame, launch] in
        (200, try WorkPage(in: $0, sources: launch.sources).write(frame))
      }
    case ("login", 1) where access.isRestricted:
      return .now(page(200, frame.login(next: "", isWrong: false), Protection.form))
    case ("r", 4):
      let rendition = try files.stored(digest: path[1], number: path[2])
      // The bytes of a file are compared with their hash first, which takes time.
      guard rendition.path != nil else { return .now(try files.answer(rendition, request)) }
      return asking(request) { [files] _ in try files.answer(rendition, request) }
    case ("o", 2):
      guard let id = AssetID(path[1]) else { throw HTTPError.noAsset }
      return asking(request) { [files] in try files.original(id, request, in: $0) }
    case ("static", 3):
      guard let file = StaticFiles.file(path[2], version: path[1]) else { throw HTTPError.notFound }
      return .now(staticFile(file, request))
    case ("api", 3...) where path[1] == "v1":
      return try api(Array(path.dropFirst(2)), request)
    case ("healthz", 1):
      // Whether the catalog can be read.
      _ = try shared.current.catalog.revision
      return .now(text("ok\n"))
    case ("metrics", 1): return metrics(request)
    case ("iiif", 3...) where path[1] == "3":
      return images.reply(to: request)
    default: throw HTTPError.notFound
    }
  }

  private func api(_ path: [String], _ request: Request) throws -> Reply {
    let query = request.target.query
    switch (path[0], path.count) {
    case ("grid", 1):
      let search = search(request)
      return asking(request, within: QueryPool.longPatience) { [answers, outlines] library in
        let entry = try answers.grid(search, in: library, keptIn: outlines)
        return Self.outline(entry, request)
      }
    case ("assets", 1):
      let search = search(request)
      let first = try id(query["from"])
      let limit = try Self.limit(query["limit"])
      return json(request) { [answers] in
        try answers.assets(search, from: first, limit: limit, in: $0)
      }
    case ("assets", 2):
      guard let id = AssetID(path[1]) else { throw HTTPError.noAsset }
      let search = search(request)
      return json(request, within: QueryPool.longPatience) { [answers] in
        try answers.asset(id, search, in: $0)
      }
    case ("complete", 1):
      let words = query["q"] ?? ""
      return json(request) { try Completion.words(for: words, in: $0) }
    case ("status", 1): return json(request) { [answers] in try answers.status(in: $0) }
    case ("failures", 1):
      let words = query["q"] ?? ""
      return json(request) { [answers] in try answers.failures(words, in: $0) }
    case ("events", 1):
      guard events.hasRoom else { throw HTTPError.busy }
      let headers =
        [
          Header("Content-Type", "text/event-stream"), Header("Cache-Control", "no-store"),
          // nginx would keep events until its buffer is full.
          Header("X-Accel-Buffering", "no"),
        ] + Protection.bytes
      // An endless answer to HEAD has no end to wait for.
      return .now(
        request.method == .head
          ? Response(200, headers, .bytes(.empty)) : Response(200, headers, .events))
    case ("edit", 1), ("retry", 1):
      throw HTTPError(
        405, "method", "Changes are asked for by POST.", headers: [Header("Allow", "POST")])
    default: throw HTTPError.notFound
    }
  }

  private func search(_ request: Request) -> GallerySearch {
    GallerySearch(query: request.target.query["q"], sort: request.target.query["sort"])
  }

  private func id(_ text: String?) throws -> AssetID? {
    guard let text, !text.isEmpty else { return nil }
    guard let id = AssetID(text) else { throw HTTPError.badRequest("“\(text)” is no ID.") }
    return id
  }

  private static func limit(_ text: String?) throws -> Int {
    guard let text else { return JSONAnswers.mostAssets }
    guard let limit = Int(text), (1...JSONAnswers.mostAssets).contains(limit) else {
      throw HTTPError.badRequest(
        "“limit” must be a number from 1 to \(JSONAnswers.mostAssets).")
    }
    return limit
  }

  // MARK: Changes

  private func logIn(_ body: [UInt8]) throws -> Response {
    guard body.count <= 16 << 10 else { throw HTTPError(413, "tooLarge", "The form is too long.") }
    let form = try RequestTarget.form(body[...])
    let next = form["next"] ?? ""
    guard access.isToken(form["token"] ?? "") else {
      return page(401, frame.login(next: next, isWrong: true), Protection.form)
    }
    return Response(
      303,
      [
        Header("Location", launch.base + Self.safe(next)), Header("Cache-Control", "no-store"),
        access.cookie(path: launch.base, isSecure: launch.isSecure),
      ])
  }

  /// An address of this server, relative to the base; empty for any other.
  static func safe(_ next: String) -> String {
    let isPlain = next.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
    guard isPlain, !next.hasPrefix("/"), next.utf8.count <= RequestTarget.longest,
      !next.prefix(while: { $0 != "/" && $0 != "?" && $0 != "#" }).contains(":")
    else { return "" }
    return next
  }

  private func change(_ request: Request, _ body: [UInt8]) throws -> Reply {
    let type = request.fields.contentType?.split(separator: ";").first.map {
      $0.lowercased().filter { $0 != " " }
    }
    guard type == "application/json" else {
      throw HTTPError(415, "type", "Changes are asked for in JSON.")
    }
    let isRetry = request.target.path.last == "retry"
    return .later { [pool, channel, launch, self] exchange in
      pool.ask { library in
        let edit = isRetry ? try EditRequest(retry: body) : try EditRequest(edit: body)
        if let refused = edit.changes.first(where: { !launch.allowed.contains($0) }) {
          throw HTTPError(
            403, "notAllowed",
            "`pipeline serve` was started without --allow \(refused.rawValue).")
        }
        return try edit.edits(in: library)
      } completion: { result in
        switch result {
        case .failure(let error):
          exchange.answer(self.response(to: Self.httpError(error), path: ["api"]))
        case .success(let edits):
          channel.ask(.edits(edits)) { outcome, _ in exchange.answer(self.response(to: outcome)) }
        }
      }
    }
  }

  private func response(to outcome: WebAnswer.Outcome?) -> Response {
    switch outcome {
    case .edited(let result):
      return json(200, ["assets": .integer(result.assets), "jobs": .integer(result.jobs)])
    case .refused(let refusal):
      let status = refusal.kind == .busy ? 503 : 409
      return response(to: HTTPError(status, "refused", refusal.reason), path: ["api"])
    case .picture, nil: return response(to: .busy, path: ["api"])
    }
  }

  // MARK: Answers

  /// Answers with what a question to the catalog gives.
  func asking(
    _ request: Request, within limit: Duration = QueryPool.patience,
    _ body: @escaping @Sendable (ReadableLibrary) throws -> Response
  ) -> Reply {
    .later { [pool, self] exchange in
      pool.ask(within: limit, body) { result in
        switch result {
        case .success(let response): exchange.answer(response)
        case .failure(let error):
          exchange.answer(self.response(to: Self.httpError(error), path: request.target.path))
        }
      }
    }
  }

  private func html(
    _ request: Request, within limit: Duration = QueryPool.patience,
    _ body: @escaping @Sendable (ReadableLibrary) throws -> (status: Int, html: [UInt8])
  ) -> Reply {
    asking(request, within: limit) { library in
      let (status, bytes) = try body(library)
      let headers =
        [Header("Content-Type", "text/html; charset=utf-8"), Self.fresh] + Protection.page
      return Self.packed(status, headers, bytes, request)
    }
  }

  private func json(
    _ request: Request, within limit: Duration = QueryPool.patience,
    _ body: @escaping @Sendable (ReadableLibrary) throws -> JSONValue
  ) -> Reply {
    asking(request, within: limit) { library in
      var bytes: [UInt8] = []
      try body(library).write(to: &bytes)
      return Self.packed(200, [Self.jsonType, Self.fresh] + Protection.bytes, bytes, request)
    }
  }

  private static let fresh = Header("Cache-Control", "private, no-cache")
  private static let jsonType = Header("Content-Type", "application/json")
  private static let varies = Header("Vary", "Accept-Encoding")
  private static let isPacked = Header("Content-Encoding", "gzip")

  private func page(_ status: Int, _ html: [UInt8], _ headers: [Header]) -> Response {
    Response(
      status, [Header("Content-Type", "text/html; charset=utf-8"), Self.fresh] + headers,
      .bytes(ResponseBytes(html)))
  }

  private func json(_ status: Int, _ value: JSONValue, _ headers: [Header] = []) -> Response {
    var bytes: [UInt8] = []
    value.write(to: &bytes)
    return Response(
      status, [Self.jsonType, Header("Cache-Control", "no-store")] + Protection.bytes + headers,
      .bytes(ResponseBytes(bytes)))
  }

  private func text(_ text: String) -> Response {
    Response(
      200,
      [Header("Content-Type", "text/plain; charset=utf-8"), Header("Cache-Control", "no-store")]
        + Protection.bytes, .bytes(ResponseBytes(Array(text.utf8))))
  }

  /// An answer with a tag of its bytes, compressed if the client takes that.
  private static func packed(
    _ status: Int, _ headers: [Header], _ bytes: [UInt8], _ request: Request
  ) -> Response {
    let tag = ContentTag.of(bytes)
    let headers = headers + [Header("ETag", "W/\(tag)"), varies]
    if status == 200, request.has(tag) { return Response(304, headers, .bytes(.empty)) }
    // Shorter answers fit into a packet anyway.
    if bytes.count > 1200, request.acceptsGzip, let packed = ContentTag.gzip(bytes) {
      return Response(status, headers + [isPacked], .bytes(ResponseBytes(packed)))
    }
    return Response(status, headers, .bytes(ResponseBytes(bytes)))
  }

  private static func outline(_ entry: OutlineCache.Entry, _ request: Request) -> Response {
    let tag = entry.tag
    let headers = [jsonType, fresh, Header("ETag", "W/\(tag)"), varies] + Protection.bytes
    if request.has(tag) { return Response(304, headers, .bytes(.empty)) }
    if request.acceptsGzip, let packed = entry.packed {
      return Response(200, headers + [isPacked], .bytes(packed))
    }
    return Response(200, headers, .bytes(entry.plain))
  }

  private func staticFile(_ file: StaticFiles.File, _ request: Request) -> Response {
    let headers =
      [
        Header("Content-Type", file.type), Self.varies,
        Header("Cache-Control", "public, max-age=31536000, immutable"),
      ] + Protection.page
    if request.acceptsGzip, let packed = file.packed {
      return Response(200, headers + [Self.isPacked], .bytes(packed))
    }
    return Response(200, headers, .bytes(file.plain))
  }

  // MARK: Errors

  static func httpError(_ error: any Error) -> HTTPError {
    switch error {
    case let error as HTTPError: return error
    case let error as QueryError: return HTTPError(400, "query", error.message)
    case let error as CatalogError where error.code == .interrupted:
      return HTTPError(
        503, "slow", "The question takes too long; ask for less.",
        headers: [Header("Retry-After", "10")])
    case let error as CatalogError where error.code == .noAsset:
      return HTTPError(404, "noAsset", error.message)
    default:
      ServerLog.shared.write(Failure(error).text)
      return HTTPError(
        500, "failed", "The library can't be read now; the server's log says why.")
    }
  }
}
