import Files
import Hashing

/// An answer to a request.
struct Response: Sendable {
  enum Body: Sendable {
    case bytes(ResponseBytes)
    /// A part of a file.
    case file(Descriptor, Range<Int>)
    case events
  }

  var status: Int
  var headers: [Header]
  var body: Body

  init(_ status: Int, _ headers: [Header], _ body: Body) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// An answer without content.
  init(_ status: Int, _ headers: [Header]) {
    self.init(status, headers + Protection.common, .bytes(.empty))
  }
}

/// Headers that limit what a browser does with an answer.
enum Protection {
  /// Those of every answer.
  static let common = [
    Header("X-Content-Type-Options", "nosniff"),
    Header("Cross-Origin-Resource-Policy", "same-origin"),
    Header("Cross-Origin-Opener-Policy", "same-origin"),
    Header("X-Frame-Options", "DENY"),
    noReferrer,
  ]
  private static let noReferrer = Header("Referrer-Policy", "no-referrer")

  static let page =
    common + [
      Header(
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
          + "media-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'self'; "
          + "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
    ]

  /// The page of a form whose origin the server has to know: `no-referrer` would hide it. Source:
  /// Fetch, section 3.2.
  static let form = page.filter { $0 != noReferrer } + [Header("Referrer-Policy", "same-origin")]

  /// Bytes of files: whatever they are, they do nothing.
  static let bytes =
    common + [
      Header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
    ]
}

/// Bytes that stay where they are until all who send them are done.
final class ResponseBytes: Sendable {
  // Never changed after `init`.
  nonisolated(unsafe) let start: UnsafeMutableRawPointer
  let count: Int

  static let empty = ResponseBytes([])

  init(_ bytes: [UInt8]) {
    count = bytes.count
    start = .allocate(byteCount: max(1, bytes.count), alignment: 16)
    bytes.withUnsafeBytes { source in
      if let base = source.baseAddress { start.copyMemory(from: base, byteCount: source.count) }
    }
  }

  deinit { start.deallocate() }
}
