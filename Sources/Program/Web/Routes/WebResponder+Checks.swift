import LibrarySession
import PipelineModel

extension WebResponder {
  /// Refuses a request that is not allowed, before its body is read.
  func check(_ exchange: Exchange) throws(HTTPError) -> Request {
    let request = try Request(
      method: exchange.method, target: exchange.target, fields: exchange.fields, hosts: hosts)
    if request.fields.contentLength ?? 0 > HTTPDaemon.mostBody {
      throw HTTPError(413, "tooLarge", "The body is too long.")
    }
    let path = request.target.path
    let isLogin = path == ["login"] && access.isRestricted
    if request.method == .post {
      guard isLogin || path == ["api", "v1", "edit"] || path == ["api", "v1", "retry"] else {
        throw HTTPError(
          405, "method", "Nothing can be changed at this address.",
          headers: [Header("Allow", "GET, HEAD")])
      }
      try request.requireSameOrigin()
      guard isLogin || !launch.allowed.isEmpty else {
        throw HTTPError(
          403, "notAllowed", "`pipeline serve` was started without --allow: it changes nothing.")
      }
    }
    let isPublic = isLogin || path == ["healthz"] || path.first == "static"
    if !isPublic,
      !access.allows(authorization: request.fields.authorization, cookie: request.fields.cookie)
    {
      throw HTTPError(
        401, "token", "This server asks for a token.",
        headers: [Header("WWW-Authenticate", "Bearer realm=\"pipeline\"")])
    }
    return request
  }
}
