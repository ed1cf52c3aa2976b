import Hashing
import PipelineModel

/// Signature Version 4 of a request to S3.
///
/// Source: docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
struct S3Signature {
  let credentials: S3Credentials
  let region: String
  /// When the request is made, in seconds since 1970.
  let time: Int

  /// Returns the headers that make a request one of the credentials' owner.
  ///
  /// - Parameters:
  ///   - path: percent-encoded.
  ///   - query: not encoded yet.
  ///   - headers: the request's own; `host` is needed.
  ///   - payload: the digest of the body.
  func headers(
    method: String, path: String, query: [String: String],
    headers: [(name: String, value: String)], payload: Digest
  ) -> [(name: String, value: String)] {
    let moment = Self.moment(time)
    var added = [("x-amz-content-sha256", payload.hex), ("x-amz-date", moment)]
    if let token = credentials.token { added.append(("x-amz-security-token", token)) }
    let all = (headers.map { ($0.name.lowercased(), $0.value) } + added).sorted { $0.0 < $1.0 }
    let names = all.map(\.0).joined(separator: ";")
    let canonical = [
      method, path, Self.text(of: query), all.map { "\($0.0):\($0.1)\n" }.joined(), names,
      payload.hex,
    ].joined(separator: "\n")
    let day = String(moment.prefix(8))
    let scope = "\(day)/\(region)/s3/aws4_request"
    let digest = SHA256.digest(of: Array(canonical.utf8))
    let subject = "AWS4-HMAC-SHA256\n\(moment)\n\(scope)\n\(digest.hex)"
    var key = Array("AWS4\(credentials.secret)".utf8)
    for part in [day, region, "s3", "aws4_request"] {
      key = SHA256.authenticationCode(of: Array(part.utf8), key: key).bytes
    }
    let signature = SHA256.authenticationCode(of: Array(subject.utf8), key: key).hex
    let value =
      "AWS4-HMAC-SHA256 Credential=\(credentials.id)/\(scope), SignedHeaders=\(names), "
      + "Signature=\(signature)"
    return added.map { (name: $0.0, value: $0.1) } + [("authorization", value)]
  }

  /// The query as it is sent and signed: sorted, with everything but unreserved characters encoded.
  static func text(of query: [String: String]) -> String {
    query.map { (encoded($0), encoded($1)) }.sorted { $0.0 < $1.0 }
      .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
  }

  /// Percent-encodes all bytes but unreserved characters. Source: RFC 3986, section 2.3.
  static func encoded(_ text: String, keepingSlashes: Bool = false) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
        result.unicodeScalars.append(Unicode.Scalar(byte))
      case 0x2F where keepingSlashes: result += "/"
      default: result += "%" + Hexadecimal.encode([byte]).uppercased()
      }
    }
    return result
  }

  /// A time as in `20261127T001500Z`.
  static func moment(_ seconds: Int) -> String {
    let text = Timestamp(microseconds: Int64(seconds) * 1_000_000).rfc3339
    return text.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
  }
}
