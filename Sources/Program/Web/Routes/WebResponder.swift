import Ingest
import LibrarySession
import PipelineModel

/// Answers requests: checks who asks, and passes on what is asked for.
///
/// Extensions in files of their own check requests, find what an address stands for, and make changes.
final class WebResponder: Responder {
  let hosts: Set<String>
  let launch: WebLaunch
  let requests: RequestMetrics
  let access: ClientAccess
  let frame: PageFrame
  let pool: QueryPool
  let files: FileAnswers
  let shared: SharedLibrary
  let disclosure: Disclosure
  let answers: JSONAnswers
  let outlines = OutlineCache()
  let values = FieldValues()
  let events: EventHub
  let channel: ParentChannel
  let images: ImageService
  let counting: LibraryCounting

  init(
    _ launch: WebLaunch, shared: SharedLibrary, pool: QueryPool, events: EventHub,
    channel: ParentChannel, requests: RequestMetrics, counting: LibraryCounting
  ) {
    self.launch = launch
    self.shared = shared
    self.pool = pool
    self.events = events
    self.channel = channel
    self.requests = requests
    self.counting = counting
    images = ImageService(launch, pool: pool, pictures: SharedPictures(channel))
    hosts = Set(launch.hosts)
    access = ClientAccess(token: launch.token)
    disclosure = Disclosure(launch.renditions, hidden: launch.hidden)
    frame = PageFrame(
      base: launch.base, allowed: launch.allowed, hasOriginals: disclosure.hasOriginals)
    files = FileAnswers(disclosure: disclosure)
    answers = JSONAnswers(sources: launch.sources, disclosure: disclosure)
  }

  func respond(to request: Request, body: [UInt8]) -> Reply {
    do {
      return try route(request, body)
    } catch {
      return .now(response(to: HTTPError(for: error), path: request.target.path))
    }
  }

  // MARK: Errors

  func response(to error: HTTPError, _ exchange: Exchange) -> Response {
    let target = try? RequestTarget(exchange.target, hosts: hosts)
    let path = target?.path ?? []
    if error.status == 401, Self.isPage(path) {
      let text = String(decoding: exchange.target.drop { $0 == UInt8(ascii: "/") }, as: UTF8.self)
      return .page(401, frame.login(next: text, isWrong: false), Protection.form + error.headers)
    }
    return response(to: error, path: path)
  }

  /// Whether people rather than programs ask for an address, as they do for one that does not exist.
  static func isPage(_ path: [String]) -> Bool {
    path.isEmpty || !["api", "healthz", "iiif", "metrics", "o", "r", "static"].contains(path[0])
  }

  func response(to error: HTTPError, path: [String]) -> Response {
    if Self.isPage(path) {
      return .page(error.status, frame.message(error), Protection.page + error.headers)
    }
    return .json(
      error.status,
      ["error": ["code": .string(error.code), "message": .string(error.message)]], error.headers)
  }
}
