import Ingest
import PipelineModel

extension WebResponder {
  /// Answers with what a question to the catalog gives.
  func asking(
    _ request: Request, within limit: Duration = QueryPool.patience, on lane: QueryLane? = nil,
    _ body: @escaping @Sendable (ReadableLibrary) throws -> Response
  ) -> Reply {
    .later { [pool, self] exchange in
      pool.ask(within: limit, on: lane, body) { result in
        switch result {
        case .success(let response): exchange.answer(response)
        case .failure(let error):
          exchange.answer(self.response(to: HTTPError(for: error), path: request.target.path))
        }
      }
    }
  }

  func html(
    _ request: Request, within limit: Duration = QueryPool.patience,
    _ body: @escaping @Sendable (ReadableLibrary) throws -> (status: Int, html: [UInt8])
  ) -> Reply {
    asking(request, within: limit) { library in
      let (status, bytes) = try body(library)
      return .packed(status, [Response.pageType, Response.fresh] + Protection.page, bytes, request)
    }
  }

  func json(
    _ request: Request, within limit: Duration = QueryPool.patience, on lane: QueryLane? = nil,
    _ body: @escaping @Sendable (ReadableLibrary) throws -> JSONValue
  ) -> Reply {
    asking(request, within: limit, on: lane) { library in
      var bytes: [UInt8] = []
      try body(library).write(to: &bytes)
      return .packed(
        200, [Response.jsonType, Response.fresh] + Protection.bytes, bytes, request)
    }
  }
}
