import PipelineModel

/// An answer of a store that says no.
struct S3Error: Error, Equatable {
  var status: Int
  /// As in the answer's `Code`; empty if it has none.
  var code: String
  var message: String

  init(_ response: HTTPResponse) {
    status = response.status
    // A server between here and the store answers in HTML.
    let document = try? XMLDocument(response.body)
    code = document?.text("Error/Code") ?? ""
    message = document?.text("Error/Message") ?? ""
  }

  /// Whether the same request may succeed soon.
  var isTransient: Bool {
    status >= 500 && status != 501 || [408, 425, 429].contains(status)
      || ["RequestTimeout", "SlowDown", "InternalError", "OperationAborted"].contains(code)
  }

  /// The object is not there. A missing bucket has the same status.
  var isNoSuchKey: Bool { status == 404 && code == "NoSuchKey" }

  /// Another condition of the request was not met: the object is there.
  var isPreconditionFailed: Bool { status == 412 }

  /// Bytes changed on their way to the store.
  var isBadDigest: Bool {
    status == 400 && ["XAmzContentSHA256Mismatch", "BadDigest", "InvalidDigest"].contains(code)
  }

  /// What the store said, and what to do, as sentences.
  ///
  /// - Parameters:
  ///   - place: where the bucket is.
  ///   - skew: how far this machine's clock is ahead of the store's in seconds, if known.
  func text(of place: BucketLocation, server: String, skew: Int?) -> String {
    let advice: String
    switch code {
    case "NoSuchBucket":
      advice =
        "There is no bucket “\(place.bucket)”: make it, or correct its name in \"originals\"."
    case "InvalidAccessKeyId": advice = "The store does not know the access key."
    case "SignatureDoesNotMatch":
      advice = "The secret key, or the region, is not the store's."
    case "AccessDenied":
      advice =
        "The access key may not do this: it needs GetObject, PutObject, DeleteObject, ListBucket and "
        + "AbortMultipartUpload."
    case "RequestTimeTooSkewed":
      let time = skew.map { " by \(abs($0)) s" } ?? ""
      advice = "This machine's clock differs from the store's\(time): set it right."
    case "ExpiredToken", "InvalidToken": advice = "The session token is not valid any more."
    case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
      advice = "The bucket is in another region: set region= in \"originals\"."
    default: advice = message
    }
    let answer = code.isEmpty ? "\(status)" : "\(status) \(code)"
    return "The store \(server) answers \(answer) for “\(place.name)”."
      + (advice.isEmpty ? "" : " \(advice)")
  }
}
