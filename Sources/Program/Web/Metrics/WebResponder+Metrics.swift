import LibrarySession

extension WebResponder {
  /// `metrics`, for Prometheus.
  func metrics(_ request: Request) -> Reply {
    .later { [counting, self] exchange in
      counting.ask { result in
        let answer = Result { try self.metrics(result.get()) }
        switch answer {
        case .success(let response): exchange.answer(response)
        case .failure(let error):
          exchange.answer(self.response(to: HTTPError(for: error), path: request.target.path))
        }
      }
    }
  }

  private func metrics(_ counted: (counts: LibraryCounts, age: Duration)) throws -> Response {
    var text = MetricText()
    try LibraryMetrics(
      of: shared.current, counted.counts, age: counted.age, sources: launch.sources,
      reserve: launch.reserve
    ).write(to: &text)
    requests.write(to: &text)
    return Response(
      200,
      [Header("Content-Type", MetricText.mediaType), Header("Cache-Control", "no-store")]
        + Protection.bytes, .bytes(ResponseBytes(Array(text.text.utf8))))
  }
}
