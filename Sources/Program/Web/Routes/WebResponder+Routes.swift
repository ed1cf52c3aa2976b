import Catalog
import Ingest
import LibrarySession
import PipelineModel
import Records

extension WebResponder {
  /// The answer of an address.
  func route(_ request: Request, _ body: [UInt8]) throws -> Reply {
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
      return html(request) { [frame, disclosure] in try page.write(frame, disclosure, in: $0) }
    case ("day", 2):
      guard path[1].wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}/) != nil else {
        throw HTTPError.notFound
      }
      let page = GalleryPage(day: path[1], sort: query["sort"], after: try id(query["after"]))
      return html(request) { [frame, disclosure] in try page.write(frame, disclosure, in: $0) }
    case ("a", 2):
      let search = search(request)
      guard let id = AssetID(path[1]) else { throw HTTPError.noAsset }
      // The viewer shows facts of one picture after another, and knows the neighbors.
      let isPart = query["part"] == "facts"
      return html(request, within: QueryPool.longPatience) { [frame, disclosure, outlines] in
        let page = try PicturePage(
          id, search, disclosure, in: $0, neighborsBy: isPart ? nil : outlines)
        return (200, page.write(frame))
      }
    case ("work", 1):
      return html(request) { [frame, launch, disclosure] in
        (200, try WorkPage(in: $0, disclosure, sources: launch.sources).write(frame))
      }
    case ("login", 1) where access.isRestricted:
      return .now(.page(200, frame.login(next: "", isWrong: false), Protection.form))
    case ("r", 4):
      return try shared.lend { library in
        let rendition = try files.stored(digest: path[1], number: path[2], request, in: library)
        guard files.takesTime(rendition, request) else {
          return .now(try files.answer(rendition, request, in: library))
        }
        if rendition.record.isInBucket { return remoteRendition(rendition, request) }
        return asking(request) { [files] in try files.answer(rendition, request, in: $0) }
      }
    case ("o", 2):
      guard let id = AssetID(path[1]) else { throw HTTPError.noAsset }
      return original(id, request)
    case ("static", 3):
      guard let file = StaticFiles.file(path[2], version: path[1]) else { throw HTTPError.notFound }
      return .now(.file(file, request))
    case ("api", 3...) where path[1] == "v1":
      return try api(Array(path.dropFirst(2)), request)
    case ("healthz", 1):
      // Whether the catalog can be read.
      _ = try shared.current.catalog.revision
      return .now(.text("ok\n"))
    case ("metrics", 1): return metrics(request)
    case ("iiif", 3...) where path[1] == "3":
      return images.reply(to: request)
    default: throw HTTPError.notFound
    }
  }

  // MARK: Parameters

  func search(_ request: Request) -> GallerySearch {
    GallerySearch(query: request.target.query["q"], sort: request.target.query["sort"])
  }

  func id(_ text: String?) throws -> AssetID? {
    guard let text, !text.isEmpty else { return nil }
    guard let id = AssetID(text) else { throw HTTPError.badRequest("“\(text)” is no ID.") }
    return id
  }
}
