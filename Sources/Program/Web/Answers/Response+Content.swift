import PipelineModel

/// The answers of the server, by what is in them.
extension Response {
  static let fresh = Header("Cache-Control", "private, no-cache")
  static let pageType = Header("Content-Type", "text/html; charset=utf-8")
  static let jsonType = Header("Content-Type", "application/json")
  private static let varies = Header("Vary", "Accept-Encoding")
  private static let isPacked = Header("Content-Encoding", "gzip")

  static func page(_ status: Int, _ html: [UInt8], _ headers: [Header]) -> Response {
    Response(
      status, [pageType, fresh] + headers,
      .bytes(ResponseBytes(html)))
  }

  static func json(
    _ status: Int, _ value: JSONValue, _ headers: [Header] = []
  ) -> Response {
    var bytes: [UInt8] = []
    value.write(to: &bytes)
    return Response(
      status, [jsonType, Header("Cache-Control", "no-store")] + Protection.bytes + headers,
      .bytes(ResponseBytes(bytes)))
  }

  static func text(_ text: String) -> Response {
    Response(
      200,
      [Header("Content-Type", "text/plain; charset=utf-8"), Header("Cache-Control", "no-store")]
        + Protection.bytes, .bytes(ResponseBytes(Array(text.utf8))))
  }

  /// An answer with a tag of its bytes, compressed if the client takes that.
  static func packed(
    _ status: Int, _ headers: [Header], _ bytes: [UInt8], _ request: Request
  ) -> Response {
    let tag = ContentTag.of(bytes)
    let headers = headers + [Header("ETag", "W/\(tag)"), varies]
    if status == 200, request.has(tag) { return Response(304, headers, .bytes(.empty)) }
    // Shorter answers fit into a packet anyway.
    if bytes.count > 1200, request.acceptsGzip, let packed = ContentTag.gzip(bytes) {
      return Response(status, headers + [isPacked], .bytes(ResponseBytes(packed)))
    }
    return Response(status, headers, .bytes(ResponseBytes(bytes)))
  }

  /// All assets of a search, as they are kept.
  static func outline(_ entry: OutlineCache.Entry, _ request: Request) -> Response {
    let tag = entry.tag
    let headers = [jsonType, fresh, Header("ETag", "W/\(tag)"), varies] + Protection.bytes
    if request.has(tag) { return Response(304, headers, .bytes(.empty)) }
    if request.acceptsGzip, let packed = entry.packed {
      return Response(200, headers + [isPacked], .bytes(packed))
    }
    return Response(200, headers, .bytes(entry.plain))
  }

  /// A script, a style sheet or an icon.
  static func file(_ file: StaticFiles.File, _ request: Request) -> Response {
    let headers =
      [
        Header("Content-Type", file.type), varies,
        Header("Cache-Control", "public, max-age=31536000, immutable"),
      ] + Protection.page
    if request.acceptsGzip, let packed = file.packed {
      return Response(200, headers + [isPacked], .bytes(packed))
    }
    return Response(200, headers, .bytes(file.plain))
  }
}
