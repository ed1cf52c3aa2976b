import PipelineModel

/// An answer of a store that says no.
struct S3Error: Error, Equatable {
  var status: Int
  /// As in the answer's `Code`; empty if it has none.
  var code: String
  var message: String
  /// Where the server says that it is to be asked instead.
  var redirection: String?

  init(_ response: HTTPResponse) {
    status = response.status
    if (301...308).contains(status) {
      redirection = response.headers["location"].map(Self.shortened)
    }
    // A server between here and the store answers in HTML.
    let document = try? XMLDocument(response.body)
    code = Self.shortened(document?.text("Error/Code") ?? "")
    message = Self.shortened(document?.text("Error/Message") ?? "")
  }

  /// The error that an answer has, if any.
  ///
  /// - Parameter isSlow: whether a successful answer may have one in its body: the status comes before
  ///   the store knows. Source: CompleteMultipartUpload and CopyObject.
  static func inside(_ response: HTTPResponse, isSlow: Bool) -> S3Error? {
    if response.isSuccess, !isSlow { return nil }
    let error = S3Error(response)
    return response.isSuccess && error.code.isEmpty ? nil : error
  }

  /// What a server says, as a line that fits into a message.
  private static func shortened(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ").printable.shortened(to: 300)
  }

  /// Whether the same request may succeed soon.
  var isTransient: Bool {
    status >= 500 && status != 501 || [408, 425, 429].contains(status)
      || ["RequestTimeout", "SlowDown", "InternalError"].contains(code) || isConflict
  }

  /// Whether the request may still be performed: the answer may be that of a server in between, which has passed the request
  /// on, or of a store that failed in the middle of it.
  var mayStillBePerformed: Bool {
    status >= 500 && (code.isEmpty || [500, 502, 504].contains(status))
  }

  /// Another request for the same object is under way.
  var isConflict: Bool {
    ["ConditionalRequestConflict", "OperationAborted"].contains(code)
  }

  /// Other credentials may be accepted.
  var isOfCredentials: Bool {
    [
      "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "InvalidAccessKeyId",
      "SignatureDoesNotMatch",
    ].contains(code)
  }

  /// Whether the answer is about the object, so that others can be read or stored all the same.
  var isOfObject: Bool {
    switch status {
    // What a region, a bucket, credentials, a clock or a quota lack also has this status.
    case 400: !isTransient && !isOfCredentials && !Self.ofStore.contains(code) && !isOfQuota
    case 413, 416: true
    default: isConflict || ["InvalidObjectState", "NoSuchUpload"].contains(code)
    }
  }

  private var isOfQuota: Bool { code.contains("Quota") }

  private static let ofStore: Set<String> = [
    "", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "InvalidBucketName",
    "InvalidLocationConstraint", "InvalidRegion", "MissingSecurityHeader", "RequestTimeTooSkewed",
  ]

  /// The object is not there. A missing bucket has the same status.
  var isNoSuchKey: Bool { status == 404 && code == "NoSuchKey" }

  /// Another condition of the request was not met: the object is there.
  var isPreconditionFailed: Bool { status == 412 }

  /// Bytes changed on their way to the store.
  var isBadDigest: Bool {
    status == 400 && ["XAmzContentSHA256Mismatch", "BadDigest", "InvalidDigest"].contains(code)
  }

  /// What an answer means that says nothing else.
  private static func advice(on status: Int, _ redirection: String?) -> String {
    switch status {
    case 301...308:
      guard let redirection else {
        return "It redirects, without saying where: correct the endpoint or the region."
      }
      return "It redirects to “\(redirection)”: correct the endpoint."
    case 413:
      return "A server in front of the store takes no request of this size: raise its limit."
    default: return ""
    }
  }

  /// What the store said, and what to do, as sentences.
  ///
  /// - Parameters:
  ///   - place: where the bucket is.
  ///   - name: what the request was for.
  ///   - skew: how far this machine's clock is ahead of the store's in seconds, if known.
  func text(of place: BucketLocation, name: String, server: String, skew: Int?) -> String {
    let advice: String
    switch code {
    case "NoSuchBucket":
      advice =
        "There is no bucket “\(place.bucket)”: make it, or correct its name in the configuration."
    case "InvalidAccessKeyId": advice = "The store does not know the access key."
    case "SignatureDoesNotMatch":
      advice = "The secret key, or the region, is not the store's."
    case "AccessDenied":
      advice =
        "The access key may not do this: it needs GetObject, PutObject, DeleteObject, ListBucket, "
        + "AbortMultipartUpload and ListBucketMultipartUploads."
    case "RequestTimeTooSkewed":
      // A server between here and the store may have a clock of its own.
      let time = skew.flatMap { abs($0) < 60 ? nil : " by \(abs($0)) s" } ?? ""
      advice = "This machine's clock differs from the store's\(time): set it right."
    case "NotImplemented":
      advice =
        "It lacks something that a library needs, such as a PUT with a condition (If-None-Match)."
        + (message.isEmpty ? "" : " \(message.sentence)")
    case "ExpiredToken", "InvalidToken": advice = "The session token is not valid any more."
    case "InvalidObjectState": advice = "It is archived: restore it in the store first."
    case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
      advice = "The bucket is in another region: set region= after its name in the configuration."
    default: advice = message.isEmpty ? Self.advice(on: status, redirection) : message.sentence
    }
    let answer = code.isEmpty ? "\(status)" : "\(status) \(code)"
    return "The store \(server) answers \(answer) for “\(name)”."
      + (advice.isEmpty ? "" : " \(advice)")
  }
}

extension String {
  /// The text with a full stop, unless it ends with some mark.
  fileprivate var sentence: String {
    guard let last, last.isLetter || last.isNumber || last == "\"" else { return self }
    return self + "."
  }
}
