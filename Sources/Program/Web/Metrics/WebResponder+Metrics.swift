import Ingest
import LibrarySession

extension WebResponder {
  /// `metrics`, for Prometheus.
  func metrics(_ request: Request) -> Reply {
    .later { [counting, pool, self] exchange in
      let answer = { @Sendable (answer: Result<Response, any Error>) in
        switch answer {
        case .success(let response): exchange.answer(response)
        case .failure(let error):
          exchange.answer(self.response(to: HTTPError(for: error), path: request.target.path))
        }
      }
      counting.ask { result in
        switch result {
        // The disk and the list of damage are looked at, which may take a while.
        case .success(let counted):
          pool.ask {
            try self.metrics(counted, of: $0)
          } completion: {
            answer($0)
          }
        case .failure(let error): answer(.failure(error))
        }
      }
    }
  }

  private func metrics(
    _ counted: LibraryCounting.Counted, of library: ReadableLibrary
  ) throws -> Response {
    var text = MetricText()
    try LibraryMetrics(
      of: library, counted.counts, age: counted.age, sources: launch.sources,
      reserve: launch.reserve
    ).write(to: &text)
    requests.write(to: &text)
    return Response(
      200,
      [Header("Content-Type", MetricText.mediaType), Header("Cache-Control", "no-store")]
        + Protection.bytes, .bytes(ResponseBytes(Array(text.text.utf8))))
  }
}
