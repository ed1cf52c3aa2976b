import LibrarySession

extension WebResponder {
  /// `metrics`, for Prometheus.
  func metrics(_ request: Request) -> Reply {
    asking(request, within: QueryPool.longPatience) { [launch, requests] library in
      var text = MetricText()
      try LibraryMetrics(of: library, sources: launch.sources, reserve: launch.reserve)
        .write(to: &text)
      requests.write(to: &text)
      return Response(
        200,
        [Header("Content-Type", MetricText.mediaType), Header("Cache-Control", "no-store")]
          + Protection.bytes, .bytes(ResponseBytes(Array(text.text.utf8))))
    }
  }
}
