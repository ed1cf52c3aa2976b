package import Files
import Glibc
import Hashing
package import PipelineModel
import Synchronization

/// Requests to a bucket on a server with the S3 API.
///
/// Only what all such servers have: signatures of version 4 with the payload's hash, conditional
/// PUT, ranges, listings of version 2 and multipart uploads. What a request does can be done twice, so
/// each is tried again after a lost connection, with growing and random pauses. Only the end of an
/// upload in parts can't; there, the object that it made is looked for.
package final class S3Client: Sendable {
  package let location: BucketLocation
  /// The server's address.
  package let server: String
  /// As the environment and its files said last.
  private let credentials: Mutex<S3Credentials>
  private let environment: [String: String]
  private let region: String
  /// The path before a key, percent-encoded, and the URL's beginning before that.
  private let root: (host: String, base: String, path: String)
  private let connections = HTTPConnections()
  let isStopped: @Sendable () -> Bool
  /// How far this machine's clock is ahead of the store's, in seconds.
  let skew = Mutex<Int?>(nil)
  let policy: RetryPolicy
  /// When a request was given up last, unless one was answered since.
  private let lastGivenUp = Mutex<ContinuousClock.Instant?>(nil)

  /// The variables of the environment that say how to reach a store.
  package static let variables = S3Settings.variables

  /// How often a request is tried.
  package struct RetryPolicy: Sendable {
    package var attempts = 6
    /// The longest first pause; each next one may be twice as long.
    package var firstPause = Duration.milliseconds(200)
    package var longestPause = Duration.seconds(5)
    /// How long after the first try there may be another.
    package var patience = Duration.seconds(45)
    /// How long, after a request was given up, others are tried once only: a store that is away would
    /// otherwise cost as much time for each.
    package var memory = Duration.seconds(10)
    /// How long an answer may take to begin.
    package var answer = Duration.seconds(60)
    /// The same for small requests if one was given up just before: many would otherwise wait in turn for a server that
    /// says nothing.
    package var answerAfterwards = Duration.seconds(5)
    /// How long the end of an upload in parts, or a copy, may take with all tries: servers may say
    /// nothing for minutes, or a space now and then.
    package var longAnswer = Duration.seconds(600)

    package init() {}
  }

  /// - Parameters:
  ///   - environment: the values of `variables`, with credentials, or naming the files that have them.
  ///   - isStopped: called several times a second; ends what is under way when it returns true.
  /// - Throws: `FileError` of code `unavailable` if something is missing or wrong.
  package init(
    _ location: BucketLocation, environment: [String: String],
    retrying policy: RetryPolicy = .init(), isStopped: @escaping @Sendable () -> Bool
  ) throws(FileError) {
    let settings = try S3Settings(environment: environment)
    credentials = Mutex(try settings.credentials())
    self.environment = environment
    region = location.region ?? settings.region ?? "us-east-1"
    let named = location.endpoint ?? settings.endpoint
    let endpoint: String
    do throws(LocationFault) {
      endpoint = try BucketLocation.endpoint(named ?? Self.amazon(region))
    } catch {
      throw FileError(.unavailable, "The environment \(error.reason).", path: nil)
    }
    // Names with dots are no part of Amazon's certificates.
    let isHost =
      location.style.map { $0 == .host } ?? (named == nil && !location.bucket.contains("."))
    let scheme = endpoint.hasPrefix("https://") ? "https://" : "http://"
    let name = endpoint.dropFirst(scheme.count)
    let host = isHost ? "\(location.bucket).\(name)" : String(name)
    self.location = location
    server = endpoint
    root = (host, scheme + host, isHost ? "" : "/\(location.bucket)")
    self.policy = policy
    self.isStopped = isStopped
  }

  /// Amazon's address for a region.
  private static func amazon(_ region: String) -> String {
    "https://s3.\(region).amazonaws.com" + (region.hasPrefix("cn-") ? ".cn" : "")
  }

  // MARK: Objects

  /// Stores an object under its digest; the store itself refuses other bytes.
  ///
  /// - Parameters:
  ///   - isNew: whether an object that is there must stay.
  /// - Returns: whether it was stored; `false` if an object is there and `isNew`.
  /// - Throws: `FileError` of code `changed` if the bytes are not those of the digest.
  package func put(
    _ content: S3Content, as key: String, digest: Digest, isNew: Bool
  ) throws(FileError) -> Bool {
    let headers = isNew ? [("if-none-match", "*")] : []
    do {
      let response = try send("PUT", key: key, headers: headers, content, payload: digest)
      // Whatever else answers, such as a network's login page, names no version of an object.
      guard response.status == 200, response.headers["etag"] != nil else {
        throw notAcknowledged(key)
      }
      return true
    } catch let error as S3Error where error.isNoSuchKey {
      throw notAcknowledged(key)
    } catch let error as S3Error where isNew && error.isPreconditionFailed {
      return false
    } catch {
      throw fileError(error, key)
    }
  }

  private func notAcknowledged(_ key: String) -> FileError {
    FileError(
      .unavailable,
      "What answers as the store \(server) did not acknowledge “\(location.name)/\(key)” as S3 does: "
        + "something else may answer in its place.", path: BytePath("\(location.name)/\(key)"))
  }

  /// Copies an object inside the store; what has the new name is replaced.
  package func copy(_ key: String, to other: String) throws(FileError) {
    let source = "/\(location.bucket)/\(S3Signature.encoded(full(key), keepingSlashes: true))"
    do {
      let response = try send(
        "PUT", key: other, headers: [("x-amz-copy-source", source)], isSlow: true)
      // What is copied is then overwritten or removed, so whatever else answers must not be taken for the store.
      _ = try document(response, root: "CopyObjectResult")
    } catch {
      throw fileError(error, key)
    }
  }

  /// Removes an object; succeeds if it is missing.
  ///
  /// - Parameter onLoss: called for each request that was not answered by the store, which it may still perform.
  package func remove(_ key: String, onLoss: (() -> Void)? = nil) throws(FileError) {
    do {
      _ = try send("DELETE", key: key, onLoss: onLoss)
    } catch let error as S3Error where error.isNoSuchKey {
      return
    } catch {
      throw fileError(error, key)
    }
  }

  // MARK: Requests

  /// Sends a request, and again after a pause if that may help.
  ///
  /// - Parameters:
  ///   - isSlow: whether the answer may take minutes, and may say at its end that the request
  ///     failed after its status said that it succeeded.
  ///   - onLoss: called for each try that was sent, and ended without an answer of the store. Each try is on a connection of
  ///     its own then, so that libcurl sends none a second time by itself.
  /// - Throws: `S3Error`, `HTTPTransfer.Failure` or `FileError`.
  func send(
    _ method: String, key: String? = nil, query: [String: String] = [:],
    headers: [(name: String, value: String)] = [], _ content: S3Content = .none,
    payload: Digest? = nil, isSlow: Bool = false, receive: HTTPTransfer.Receiver? = nil,
    onLoss: (() -> Void)? = nil
  ) throws -> HTTPResponse {
    let payload = payload ?? SHA256.digest(of: content.bytes)
    var attempt = 1
    var pause = policy.firstPause
    let start = ContinuousClock().now
    let deadline = start + (isSlow ? policy.longAnswer : policy.patience)
    var isRenewed = false
    let isAway = lastGivenUp.withLock { $0.map { $0 + policy.memory > start } ?? false }
    let attempts = isAway ? 1 : policy.attempts
    while true {
      do {
        let credentials = credentials.withLock { $0 }
        var request = request(method, key, query, headers, content, payload, credentials)
        // Also one that begins when the time is up ends.
        let left = max(deadline - ContinuousClock().now, .seconds(1))
        // What was sent may still be on its way when libcurl has the last of it.
        let isShort = isAway && request.body.count <= 64 << 10
        request.patience.answer =
          isSlow ? left : isShort ? policy.answerAfterwards : policy.answer
        if isSlow { request.patience.flow = left }
        request.isSentOnce = onLoss != nil
        let response = try connections.perform(request, receive: receive, isStopped: isStopped)
        note(response)
        guard let error = S3Error.inside(response, isSlow: isSlow) else {
          lastGivenUp.withLock { $0 = nil }
          return response
        }
        if error.mayStillBePerformed { onLoss?() }
        // Temporary credentials are replaced in their file from time to time.
        if error.isOfCredentials, !isRenewed, renew(credentials) {
          isRenewed = true
          continue
        }
        // Bytes that changed on the way are sent once more; bytes that are others stay so.
        guard error.isTransient || error.isBadDigest && attempt == 1, attempt < attempts,
          ContinuousClock().now < deadline
        else {
          if error.isTransient, !error.isConflict { noteGivenUp() }
          throw error
        }
      } catch let failure as HTTPTransfer.Failure {
        if isStopped() { throw FileError.stopped(BytePath(location.name)) }
        switch failure {
        case .unreachable: break
        case .connection(_, received: 0): onLoss?()
        // Who reads a body goes on from where it was cut.
        default: throw failure
        }
        guard attempt < attempts, ContinuousClock().now < deadline else {
          noteGivenUp()
          throw failure
        }
      }
      try wait(for: pause * Double.random(in: 0.5...1))
      pause = min(pause * 2, policy.longestPause)
      attempt += 1
    }
  }

  /// Reads the credentials again.
  ///
  /// - Returns: whether they are others than those that were refused.
  private func renew(_ refused: S3Credentials) -> Bool {
    // What is wrong with the files now does not matter: the store's answer is told.
    guard let found = try? S3Settings(environment: environment).credentials(), found != refused
    else { return false }
    credentials.withLock { $0 = found }
    return true
  }

  private func noteGivenUp() { lastGivenUp.withLock { $0 = ContinuousClock().now } }

  func wait(for duration: Duration) throws(FileError) {
    let end = ContinuousClock().now + duration
    while ContinuousClock().now < end {
      if isStopped() { throw .stopped(BytePath(location.name)) }
      usleep(20_000)
    }
  }

  private func request(
    _ method: String, _ key: String?, _ query: [String: String],
    _ headers: [(name: String, value: String)], _ content: S3Content, _ payload: Digest,
    _ credentials: S3Credentials
  ) -> HTTPRequest {
    var path = root.path
    if let key { path += "/" + S3Signature.encoded(full(key), keepingSlashes: true) }
    if path.isEmpty { path = "/" }
    let signature = S3Signature(
      credentials: credentials, region: region, time: Int(time(nil)))
    let added = signature.headers(
      method: method, path: path, query: query, headers: headers + [("host", root.host)],
      payload: payload)
    let text = S3Signature.text(of: query)
    return HTTPRequest(
      method: method, url: root.base + path + (text.isEmpty ? "" : "?\(text)"),
      // As it was signed: libcurl would write some addresses in another way.
      headers: headers + [("host", root.host)] + added, body: content.body)
  }

  private func full(_ key: String) -> String {
    location.prefix.isEmpty ? key : "\(location.prefix)/\(key)"
  }

  /// The key of an object from its name in the bucket.
  func key(ofObject name: String) -> String? {
    guard !location.prefix.isEmpty else { return name }
    guard name.hasPrefix(location.prefix + "/") else { return nil }
    return String(name.dropFirst(location.prefix.count + 1))
  }

  func object(of key: String) -> String { full(key) }

  private func note(_ response: HTTPResponse) {
    guard let date = response.headers["date"],
      // A request was answered, so the library is there.
      let seconds = try? CurlLibrary.shared.get().seconds(date)
    else { return }
    skew.withLock { $0 = Int(time(nil)) - seconds }
  }
}
