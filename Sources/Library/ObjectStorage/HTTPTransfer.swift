import CCurl
import Files
import Glibc
import PipelineModel

/// A connection to a server, and what is sent and received on it; one request at a time.
///
/// Source: libcurl-easy(3), and the pages of each option.
final class HTTPTransfer: @unchecked Sendable {
  // Used by one thread at a time: `HTTPConnections` lends each to one.
  private let curl: CurlLibrary
  private let handle: UnsafeMutableRawPointer

  /// Gets the body of a successful answer, piece by piece, with the answer's status and headers.
  typealias Receiver = (HTTPResponse, UnsafeRawBufferPointer) throws(FileError) -> Void

  /// How a request ended without an answer.
  enum Failure: Error {
    /// The server can't be reached, and got nothing.
    case unreachable(String)
    /// The connection was lost, or given up; the server may have got the request or not.
    ///
    /// - Parameter received: how many bytes of a successful answer were received before.
    case connection(String, received: Int)
    /// What reads or writes the bytes here failed.
    case local(FileError)
    /// libcurl can't do it at all.
    case unusable(String)
  }

  /// What the callbacks work on.
  private final class Exchange {
    var response = HTTPResponse(status: 0)
    /// Whether the empty line after the headers came: libcurl takes an answer without it for a whole one.
    var isHeadWhole = false
    let body: HTTPRequest.Body
    var sent = 0
    var received = 0
    let receive: Receiver?
    let isStopped: () -> Bool
    var status: () -> Int = { 0 }
    var failure: FileError?
    /// Why the connection counts as lost.
    private(set) var loss: String?
    /// Since when the present part of the exchange is watched, and how many bytes had moved then.
    private var watched: (part: Part, start: ContinuousClock.Instant, moved: Int)?
    /// The bytes of bodies that came.
    var arrived = 0
    private let patience: HTTPRequest.Patience

    private enum Part { case sending, waiting, receiving }

    init(
      _ request: HTTPRequest, _ receive: Receiver?, _ isStopped: @escaping () -> Bool
    ) {
      body = request.body
      patience = request.patience
      self.receive = receive
      self.isStopped = isStopped
    }

    /// Whether the exchange has to end now.
    ///
    /// libcurl's own limit would also count the time in which a server only thinks.
    func mustEnd() -> Bool {
      if isStopped() { return true }
      let part: Part =
        sent < body.count ? .sending : arrived == 0 ? .waiting : .receiving
      let (now, moved) = (ContinuousClock().now, sent + arrived)
      guard let watched, watched.part == part else {
        watched = (part, now, moved)
        return false
      }
      let limit = part == .waiting ? patience.answer : patience.flow
      guard now - watched.start >= limit else { return false }
      if part != .waiting, moved - watched.moved >= 1024 * Int(limit.components.seconds) {
        self.watched = (part, now, moved)
        return false
      }
      loss =
        part == .waiting
        ? "nothing was answered for \(limit)"
        : "less than a kilobyte a second was transferred for \(limit)"
      return true
    }
  }

  /// The largest body of an answer that is kept, in bytes: a page of a listing has less than 1 MiB.
  private static let greatestBody = 8 << 20

  init() throws(FileError) {
    curl = try CurlLibrary.shared.get()
    guard let handle = curl.makeHandle() else {
      throw FileError(.unavailable, "libcurl has no memory for a connection.", path: nil)
    }
    self.handle = handle
  }

  deinit { curl.cleanUp(handle) }

  /// Sends a request and waits for the answer.
  ///
  /// - Parameters:
  ///   - receive: gets the body of a successful answer piece by piece; by default it is kept.
  ///   - isStopped: called several times a second; the request ends when it returns true.
  func perform(
    _ request: HTTPRequest,
    receive: Receiver? = nil,
    isStopped: @escaping () -> Bool
  ) throws(Failure) -> HTTPResponse {
    let exchange = Exchange(request, receive, isStopped)
    curl.reset(handle)
    var list: UnsafeMutablePointer<curl_slist>?
    for header in request.headers { list = curl.append(list, "\(header.name): \(header.value)") }
    // Without this, libcurl waits a second for servers that don't answer “100 Continue”.
    list = curl.append(list, "Expect:")
    defer { curl.freeList(list) }
    var message = [CChar](repeating: 0, count: Int(CURL_ERROR_SIZE))
    let code: CURLcode = message.withUnsafeMutableBufferPointer { message in
      withExtendedLifetime(exchange) {
        configure(request, list)
        // The buffer and `exchange` outlive the call of `perform`, the only one that uses them.
        setPointer(CURLOPT_ERRORBUFFER, message.baseAddress.map { UnsafeMutableRawPointer($0) })
        attach(exchange)
        exchange.status = { [self] in status }
        let code = curl.perform(handle)
        setPointer(CURLOPT_ERRORBUFFER, nil)
        return code
      }
    }
    if let failure = exchange.failure { throw .local(failure) }
    if let loss = exchange.loss { throw failure(loss, exchange) }
    if code == CURLE_OK {
      guard exchange.isHeadWhole else {
        throw .connection("the connection was closed within the headers of the answer", received: 0)
      }
      exchange.response.status = status
      return exchange.response
    }
    let detail = String(
      decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let text = detail.isEmpty ? curl.text(of: code) : detail
    switch code {
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT, CURLE_FAILED_INIT, CURLE_OUT_OF_MEMORY:
      throw .unusable(text)
    default: throw failure(text, exchange)
    }
  }

  private func failure(_ reason: String, _ exchange: Exchange) -> Failure {
    number(CURLINFO_REQUEST_SIZE) == 0
      ? .unreachable(reason) : .connection(reason, received: exchange.received)
  }

  private var status: Int { number(CURLINFO_RESPONSE_CODE) }

  private func number(_ info: CURLINFO) -> Int {
    var number = 0
    _ = pipeline_curl_get_long(curl.getInfo, handle, info, &number)
    return number
  }

  // MARK: Options

  private func configure(_ request: HTTPRequest, _ headers: UnsafeMutablePointer<curl_slist>?) {
    setText(CURLOPT_URL, request.url)
    setText(CURLOPT_PROTOCOLS_STR, "http,https")
    _ = pipeline_curl_set_headers(curl.setOption, handle, headers)
    _ = pipeline_curl_set_socket(curl.setOption, handle)
    // Signals of libcurl's own would end other threads' calls.
    setLong(CURLOPT_NOSIGNAL, 1)
    setLong(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    setLong(CURLOPT_CONNECTTIMEOUT_MS, 10_000)
    setLong(CURLOPT_TCP_KEEPALIVE, 1)
    setLong(CURLOPT_TCP_NODELAY, 1)
    if request.isSentOnce { setLong(CURLOPT_FRESH_CONNECT, 1) }
    setLong(CURLOPT_BUFFERSIZE, 256 << 10)
    setLong(CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10)
    if let file = getenv("AWS_CA_BUNDLE").map({ String(cString: $0) }), !file.isEmpty {
      setText(CURLOPT_CAINFO, file)
    }
    switch request.method {
    case "GET": break
    case "HEAD": setLong(CURLOPT_NOBODY, 1)
    case "PUT", "POST":
      setLong(CURLOPT_UPLOAD, 1)
      _ = pipeline_curl_set_size(
        curl.setOption, handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(request.body.count))
      setText(CURLOPT_CUSTOMREQUEST, request.method)
    default: setText(CURLOPT_CUSTOMREQUEST, request.method)
    }
  }

  private func attach(_ exchange: Exchange) {
    // Unretained: it outlives the call of `perform`, the only one during which libcurl uses it.
    let context = Unmanaged.passUnretained(exchange).toOpaque()
    setPointer(CURLOPT_WRITEDATA, context)
    setPointer(CURLOPT_HEADERDATA, context)
    setPointer(CURLOPT_READDATA, context)
    setPointer(CURLOPT_XFERINFODATA, context)
    setLong(CURLOPT_NOPROGRESS, 0)
    _ = pipeline_curl_set_write(curl.setOption, handle, CURLOPT_WRITEFUNCTION) {
      HTTPTransfer.receive($0, $1 * $2, $3)
    }
    _ = pipeline_curl_set_write(curl.setOption, handle, CURLOPT_HEADERFUNCTION) {
      HTTPTransfer.receiveHeader($0, $1 * $2, $3)
    }
    _ = pipeline_curl_set_read(curl.setOption, handle) { HTTPTransfer.send($0, $1 * $2, $3) }
    _ = pipeline_curl_set_progress(curl.setOption, handle) { context, _, _, _, _ in
      HTTPTransfer.exchange(context).mustEnd() ? 1 : 0
    }
  }

  private func setLong(_ option: CURLoption, _ value: Int) {
    _ = pipeline_curl_set_long(curl.setOption, handle, option, value)
  }

  private func setText(_ option: CURLoption, _ value: String) {
    _ = pipeline_curl_set_text(curl.setOption, handle, option, value)
  }

  private func setPointer(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) {
    _ = pipeline_curl_set_pointer(curl.setOption, handle, option, value)
  }

  // MARK: What libcurl calls during `perform`

  private static func exchange(_ context: UnsafeMutableRawPointer?) -> Exchange {
    guard let context else { preconditionFailure("Each transfer sets its context.") }
    // It was set to an `Exchange` that lives until `perform` returns.
    return Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
  }

  private static func receive(
    _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?
  ) -> Int {
    let exchange = exchange(context)
    let piece = UnsafeRawBufferPointer(start: bytes, count: count)
    exchange.arrived += count
    exchange.response.status = exchange.status()
    do throws(FileError) {
      if let receive = exchange.receive, exchange.response.isSuccess {
        try receive(exchange.response, piece)
        exchange.received += count
      } else {
        guard exchange.response.body.count + count <= greatestBody else {
          throw FileError(
            .other, "The store's answer is larger than \(greatestBody) bytes.", path: nil)
        }
        exchange.response.body.append(contentsOf: piece)
      }
      return count
    } catch {
      exchange.failure = error
      return 0
    }
  }

  private static func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?
  ) -> Int {
    let exchange = exchange(context)
    let line = String(
      decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    // A new answer begins, after “100 Continue”.
    if line.hasPrefix("HTTP/") {
      exchange.response.headers = [:]
      exchange.isHeadWhole = false
    }
    if line.allSatisfy(\.isNewline) { exchange.isHeadWhole = true }
    guard let colon = line.firstIndex(of: ":"), exchange.response.headers.count < 256 else {
      return count
    }
    let value = line[line.index(after: colon)...].drop { $0 == " " }
    exchange.response.headers[line[..<colon].lowercased()] = String(
      value.reversed().drop { $0.isWhitespace }.reversed())
    return count
  }

  private static func send(
    _ bytes: UnsafeMutablePointer<CChar>?, _ room: Int, _ context: UnsafeMutableRawPointer?
  ) -> Int {
    let exchange = exchange(context)
    let count = min(room, exchange.body.count - exchange.sent)
    guard count > 0, let bytes else { return 0 }
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: count)
    do throws(FileError) {
      let got: Int
      switch exchange.body {
      case .none: return 0
      case .bytes(let content):
        buffer.copyBytes(from: content[exchange.sent..<exchange.sent + count])
        got = count
      case .file(let file, let offset, _):
        got = try file.read(into: buffer, at: offset + exchange.sent)
        guard got > 0 else {
          throw FileError(
            .changed, "“\(file.path.printable)” became shorter while it was read.",
            path: file.path)
        }
      }
      exchange.sent += got
      return got
    } catch {
      exchange.failure = error
      return pipeline_curl_read_abort
    }
  }
}
