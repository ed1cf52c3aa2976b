/// A request that is not answered with what it asks for.
struct HTTPError: Error, Hashable, Sendable {
  let status: Int
  /// A stable code for scripts.
  let code: String
  /// A sentence for people.
  let message: String
  /// Headers in addition to the usual ones.
  var headers: [Header] = []

  init(_ status: Int, _ code: String, _ message: String, headers: [Header] = []) {
    self.status = status
    self.code = code
    self.message = message
    self.headers = headers
  }

  static let notFound = HTTPError(404, "notFound", "There is nothing at this address.")
  static let noAsset = HTTPError(404, "noAsset", "There is no asset with this ID.")
  static let damagedRendition = HTTPError(
    404, "damaged",
    "This rendition is missing or damaged; `pipeline verify --repair` makes it again.")
  static let busy = HTTPError(
    503, "busy", "The server is busy; try again in a moment.",
    headers: [Header("Retry-After", "2")])

  static let lost = HTTPError(
    503, "unreachable",
    "The library's database can't be reached now; the server goes on by itself as soon as it can.",
    headers: [Header("Retry-After", "5")])

  static let denied = HTTPError(
    503, "denied",
    "The library's database refuses to be read, because rights are missing; the server's log says which.",
    headers: [Header("Retry-After", "5")])

  static let slow = HTTPError(
    503, "slow", "The question takes too long; ask for less.",
    headers: [Header("Retry-After", "10")])

  static func badRequest(_ message: String) -> HTTPError { HTTPError(400, "badRequest", message) }
}

/// A header of a response.
struct Header: Hashable, Sendable {
  let name: String
  let value: String

  /// - Parameter value: control characters, which would begin another header, are left out.
  init(_ name: String, _ value: String) {
    self.name = name
    let isPlain = value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    self.value =
      isPlain
      ? value
      : String(
        String.UnicodeScalarView(value.unicodeScalars.filter { (0x20...0x7E).contains($0.value) }))
  }
}
