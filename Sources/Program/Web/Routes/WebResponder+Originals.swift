import Ingest
import LibrarySession
import PipelineModel

extension WebResponder {
  /// Answers with an original; one in a bucket is fetched by the process that may reach it.
  func original(_ id: AssetID, _ request: Request) -> Reply {
    .later { [self] exchange in
      ask(for: id, request, exchange) { [self] in
        let number = channel.ask(.original(id)) { [self] outcome, _ in
          switch outcome {
          case .original:
            // Another one may have taken its room already.
            ask(for: id, request, exchange) { [self] in
              exchange.answer(response(to: .busy, path: request.target.path))
            }
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
  }

  /// - Parameter fetch: called if the original is not on this machine.
  private func ask(
    for id: AssetID, _ request: Request, _ exchange: Exchange,
    fetch: @escaping @Sendable () -> Void
  ) {
    pool.ask(within: QueryPool.patience) { [files] library in
      try files.original(id, request, in: library)
    } completion: { [self] result in
      switch result {
      case .success(let response?): exchange.answer(response)
      case .success(nil): fetch()
      case .failure(let error):
        exchange.answer(response(to: HTTPError(for: error), path: request.target.path))
      }
    }
  }
}
