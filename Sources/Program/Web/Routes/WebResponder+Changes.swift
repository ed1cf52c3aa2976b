import Ingest
import LibrarySession
import PipelineModel

extension WebResponder {
  /// The answer to the form that asks for the token.
  func logIn(_ body: [UInt8]) throws -> Response {
    guard body.count <= 16 << 10 else { throw HTTPError(413, "tooLarge", "The form is too long.") }
    let form = try RequestTarget.form(body[...])
    let next = form["next"] ?? ""
    guard access.isToken(form["token"] ?? "") else {
      return .page(401, frame.login(next: next, isWrong: true), Protection.form)
    }
    return Response(
      303,
      [
        Header("Location", launch.base + Self.safe(next)), Header("Cache-Control", "no-store"),
        access.cookie(path: launch.base, isSecure: launch.isSecure),
      ])
  }

  /// An address of this server, relative to the base; empty for any other.
  static func safe(_ next: String) -> String {
    let isPlain = next.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
    guard isPlain, !next.hasPrefix("/"), next.utf8.count <= RequestTarget.longest,
      !next.prefix(while: { $0 != "/" && $0 != "?" && $0 != "#" }).contains(":")
    else { return "" }
    return next
  }

  /// The answer to a request for changes, which are checked here and again by who makes them.
  func change(_ request: Request, _ body: [UInt8]) throws -> Reply {
    let type = request.fields.contentType?.split(separator: ";").first.map {
      $0.lowercased().filter { $0 != " " }
    }
    guard type == "application/json" else {
      throw HTTPError(415, "type", "Changes are asked for in JSON.")
    }
    let isRetry = request.target.path.last == "retry"
    return .later { [pool, channel, launch, disclosure, self] exchange in
      pool.ask { library in
        let edit = isRetry ? try EditRequest(retry: body) : try EditRequest(edit: body)
        if let refused = edit.changes.first(where: { !launch.allowed.contains($0) }) {
          throw HTTPError(
            403, "notAllowed",
            "`pipeline serve` was started without --allow \(refused.rawValue).")
        }
        return try edit.edits(in: library, disclosure)
      } completion: { result in
        switch result {
        case .failure(let error):
          exchange.answer(self.response(to: HTTPError(for: error), path: ["api"]))
        case .success(let edits):
          channel.ask(.edits(edits)) { outcome, _ in exchange.answer(self.response(to: outcome)) }
        }
      }
    }
  }

  private func response(to outcome: WebAnswer.Outcome?) -> Response {
    switch outcome {
    case .edited(let result):
      return .json(200, ["assets": .integer(result.assets), "jobs": .integer(result.jobs)])
    case .refused(let refusal):
      let status = refusal.kind == .busy ? 503 : 409
      return response(to: HTTPError(status, "refused", refusal.reason), path: ["api"])
    case .picture, .fetched, .database, nil: return response(to: .busy, path: ["api"])
    }
  }
}
