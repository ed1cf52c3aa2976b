package import Files
import PipelineModel

/// An object in a listing.
package struct S3Entry: Hashable, Sendable {
  /// Its key, without the location's prefix.
  package var key: String
  package var size: Int
}

extension String {
  /// Whether it comes before another in a listing: by its bytes.
  func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}

extension S3Client {
  /// How many pages without names may follow each other: some stores have them after many removals.
  private static let mostEmptyPages = 100

  /// Calls `body` with all objects whose keys begin with a text, in the order of their keys.
  ///
  /// Source: ListObjectsV2.
  package func list(
    _ prefix: String, _ body: (S3Entry) throws(FileError) -> Void
  ) throws(FileError) {
    try pages(of: prefix, delimiter: nil) { document throws(FileError) in
      for entry in document.groups("ListBucketResult/Contents") {
        guard let name = entry["Key"].map(Self.decoded), let key = key(ofObject: name),
          let size = entry["Size"].flatMap({ Int($0) }), 0...Self.greatestObject ~= size
        else { throw unexpected(of: "a listing") }
        try body(S3Entry(key: key, size: size))
      }
    }
  }

  /// Returns what follows a text in all keys that begin with it, up to the next slash and with it.
  package func names(below prefix: String) throws(FileError) -> Set<String> {
    var names: Set<String> = []
    try pages(of: prefix, delimiter: "/") { document throws(FileError) in
      for name in Self.names(in: document) {
        guard let key = key(ofObject: name) else { throw unexpected(of: "a listing") }
        names.insert(String(key.dropFirst(prefix.count)))
      }
    }
    return names
  }

  private static func names(in page: XMLDocument) -> [String] {
    let names =
      page.groups("ListBucketResult/Contents").map { $0["Key"] }
      + page.groups("ListBucketResult/CommonPrefixes").map { $0["Prefix"] }
    return names.map { decoded($0 ?? "") }
  }

  /// Calls `body` with each page, whose names must come after those of all pages before.
  private func pages(
    of prefix: String, delimiter: String?, _ body: (XMLDocument) throws(FileError) -> Void
  ) throws(FileError) {
    var query = ["list-type": "2", "encoding-type": "url", "prefix": object(of: prefix)]
    query["delimiter"] = delimiter
    var last = ""
    var emptyPages = 0
    while true {
      let document = try document("GET", query: query, root: "ListBucketResult")
      let names = Self.names(in: document)
      if let first = names.min(by: { $0.precedes($1) }),
        let end = names.max(by: { $0.precedes($1) })
      {
        // A common beginning that spans pages may be on each.
        guard last.precedes(delimiter == nil ? first : end) else {
          throw unexpected(of: "a listing")
        }
        last = end
      }
      try body(document)
      guard document.text("ListBucketResult/IsTruncated") == "true" else { return }
      let token = document.text("ListBucketResult/NextContinuationToken")
      // A server that gives the same pages again would be asked for ever.
      emptyPages = names.isEmpty ? emptyPages + 1 : 0
      guard let token, token != query["continuation-token"], emptyPages < Self.mostEmptyPages else {
        throw unexpected(of: "a listing")
      }
      query["continuation-token"] = token
    }
  }

  /// Sends a request that is answered with a document.
  func document(
    _ method: String, key: String? = nil, query: [String: String], root: String
  ) throws(FileError) -> XMLDocument {
    do {
      return try document(send(method, key: key, query: query), root: root)
    } catch {
      throw fileError(error, key)
    }
  }

  /// The document that an answer is.
  func document(_ response: HTTPResponse, root: String) throws -> XMLDocument {
    // One that was cut is no document.
    guard let document = try? XMLDocument(response.body) else { throw unexpected(of: "a request") }
    if document.text("Error/Code") != nil { throw S3Error(response) }
    guard document.leaves.first?.path.hasPrefix(root) == true else {
      throw unexpected(of: "a request")
    }
    return document
  }

  func unexpected(of what: String) -> FileError {
    FileError(
      .unavailable, "The store \(server) answers \(what) with something that S3 does not have.",
      path: nil)
  }

  /// Decodes a key of a listing with `encoding-type=url`, where a space may be a plus sign.
  private static func decoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == 0x25, rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte == 0x2B ? 0x20 : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
