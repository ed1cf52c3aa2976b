import Catalog
import Ingest
import LibrarySession
import PipelineModel
import Records

extension WebResponder {
  /// Answers with an original. One in a bucket is fetched, or its local copy compared with its hash, by
  /// the process that may reach the bucket.
  func original(_ id: AssetID, _ request: Request) -> Reply {
    .later { [self] exchange in
      guard shared.current.library.bucket != nil else { return answer(id, request, exchange) }
      fetch(.original(id), request, exchange) { [self] in answer(id, request, exchange) }
    }
  }

  /// Answers with a rendition that is in a bucket, once it was fetched.
  func remoteRendition(_ stored: StoredRendition, _ request: Request) -> Reply {
    .later { [self] exchange in
      fetch(.rendition(stored.record.id), request, exchange) { [self] in
        ask(request, exchange) { [files] in try files.answer(stored, request, in: $0) }
      }
    }
  }

  /// Has the process that may reach the bucket fetch something to the cache.
  private func fetch(
    _ subject: WebQuestion.Subject, _ request: Request, _ exchange: Exchange,
    _ answer: @escaping @Sendable () -> Void
  ) {
    let number = channel.ask(subject) { [self] outcome, _ in
      switch outcome {
      case .fetched: answer()
      case .refused(let refusal) where refusal.kind == .noAsset:
        exchange.answer(response(to: .noAsset, path: request.target.path))
      case .refused(let refusal) where refusal.kind == .noPicture:
        exchange.answer(response(to: .damagedRendition, path: request.target.path))
      case .refused(let refusal) where refusal.kind != .busy:
        ServerLog.shared.write(refusal.reason)
        let error = HTTPError(
          503, "unavailable", "The file can't be fetched now; the server's log says why.",
          headers: [Header("Retry-After", "30")])
        exchange.answer(response(to: error, path: request.target.path))
      default: exchange.answer(response(to: .busy, path: request.target.path))
      }
    }
    if let number { exchange.whenGone { [channel] in channel.withdraw(number) } }
  }

  private func answer(_ id: AssetID, _ request: Request, _ exchange: Exchange) {
    ask(request, exchange) { [files] in try files.original(id, request, in: $0) }
  }

  private func ask(
    _ request: Request, _ exchange: Exchange,
    _ question: @escaping @Sendable (ReadableLibrary) throws -> Response
  ) {
    pool.ask(within: QueryPool.patience) { library in
      try question(library)
    } completion: { [self] result in
      switch result {
      case .success(let response): exchange.answer(response)
      case .failure(let error):
        exchange.answer(response(to: HTTPError(for: error), path: request.target.path))
      }
    }
  }
}
