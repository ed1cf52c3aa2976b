import Ingest
import LibrarySession
import PipelineModel

extension WebResponder {
  /// Answers with an original. One in a bucket is fetched, or its local copy compared with its hash, by
  /// the process that may reach the bucket.
  func original(_ id: AssetID, _ request: Request) -> Reply {
    .later { [self] exchange in
      guard shared.current.library.bucket != nil else { return answer(id, request, exchange) }
      let number = channel.ask(.original(id)) { [self] outcome, _ in
        switch outcome {
        case .original: answer(id, request, exchange)
        case .refused(let refusal) where refusal.kind == .noAsset:
          exchange.answer(response(to: .noAsset, path: request.target.path))
        case .refused(let refusal) where refusal.kind != .busy:
          ServerLog.shared.write(refusal.reason)
          let error = HTTPError(
            503, "unavailable", "The original can't be fetched now; the server's log says why.",
            headers: [Header("Retry-After", "30")])
          exchange.answer(response(to: error, path: request.target.path))
        default: exchange.answer(response(to: .busy, path: request.target.path))
        }
      }
      if let number { exchange.whenGone { [channel] in channel.withdraw(number) } }
    }
  }

  private func answer(_ id: AssetID, _ request: Request, _ exchange: Exchange) {
    pool.ask(within: QueryPool.patience) { [files] library in
      try files.original(id, request, in: library)
    } completion: { [self] result in
      switch result {
      case .success(let response): exchange.answer(response)
      case .failure(let error):
        exchange.answer(response(to: HTTPError(for: error), path: request.target.path))
      }
    }
  }
}
