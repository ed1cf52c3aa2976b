import Ingest
import LibrarySession
import PipelineModel

extension WebResponder {
  /// The answer of an address below `api/v1`.
  func api(_ path: [String], _ request: Request) throws -> Reply {
    let query = request.target.query
    switch (path[0], path.count) {
    case ("grid", 1):
      let search = search(request)
      return asking(request, within: QueryPool.longPatience) { [answers, outlines] library in
        let entry = try answers.grid(search, in: library, keptIn: outlines)
        return .outline(entry, request)
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
      return json(request, within: QueryPool.longPatience) { [answers, outlines] in
        try answers.asset(id, search, in: $0, keptIn: outlines)
      }
    case ("complete", 1):
      let words = query["q"] ?? ""
      return json(request, within: QueryPool.longPatience, on: pool.completions) {
        [disclosure, values] in
        try Completion.words(for: words, from: values, disclosure, in: $0)
      }
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

  private static func limit(_ text: String?) throws -> Int {
    guard let text else { return JSONAnswers.mostAssets }
    guard let limit = Int(text), (1...JSONAnswers.mostAssets).contains(limit) else {
      throw HTTPError.badRequest(
        "“limit” must be a number from 1 to \(JSONAnswers.mostAssets).")
    }
    return limit
  }
}
