import Fixtures
import Foundation

/// A request that a friendly client would not send, and how it must end.
struct HostileRequest: Sendable {
  let bytes: [UInt8]
  /// The statuses that are right; 0 for no answer at all.
  let statuses: Set<Int>

  /// - Parameter head: the request, with `\n` for the ends of lines.
  init(_ head: String, _ statuses: Int...) {
    bytes = Array(head.replacing("\n", with: "\r\n").utf8)
    self.statuses = Set(statuses)
  }

  init(bytes: [UInt8], _ statuses: Int...) {
    self.bytes = bytes
    self.statuses = Set(statuses)
  }

  private static func get(_ target: String, _ statuses: Int...) -> HostileRequest {
    HostileRequest(
      bytes: Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8),
      set: Set(statuses))
  }

  private init(bytes: [UInt8], set: Set<Int>) {
    self.bytes = bytes
    statuses = set
  }

  private static let end = "\nConnection: close\n\n"

  /// - Parameter id: an asset's key.
  static func all(_ id: String) -> [HostileRequest] {
    paths(id) + hosts + heads(id) + bodies + methods
  }

  private static func paths(_ id: String) -> [HostileRequest] {
    let wayOut = [
      "/..", "/../", "/../../../../etc/passwd", "/static/../../etc/passwd", "/r/../catalog.sqlite",
      "/o/..", "/o/../../secret", "/%2e%2e/secret", "/%2e%2e%2fsecret", "/.%2e/secret",
      "/..%2f..%2fsecret", "/..%5c..%5csecret", "/%5c%5cserver%5cshare", "/o/%2fetc%2fpasswd",
      "/o/%2e%2e/%2e%2e/secret", "/a/\(id)/../../secret", "/a/\(id)%2f..%2f..%2fsecret",
      "/./", "/a/.", "/%00", "/o/\(id)%00.jpg", "/o/%00", "/static/x/app.css%00", "/?q=%00",
      "/?q=a&q=b", "/a/\(id)?sort=a&sort=b", "/%", "/%z", "/%f", "/%zz", "/?q=%", "/?q=%ff",
      "/%ff%fe", "/%c0%ae%c0%ae/secret", "/%e0%80%af", "/%ed%a0%80", "/?%", "/#x", "/a#b",
    ]
    let nowhere = [
      "//", "//etc/passwd", "///", "/o//x", "/a/", "/o/", "/r/", "/static/", "/api/", "/api/v1/",
      "/api/v2/grid", "/api/v1/grid/", "/catalog.sqlite", "/library/catalog.sqlite", "/manifest",
      "/o/x", "/o/\(id)x", "/o/\(id.dropLast())", "/o/\(id)/x", "/a/\(id)/x", "/a/%20\(id)",
      "/r/0/0/x", "/r/\(String(repeating: "f", count: 64))/1/grid",
      "/r/\(String(repeating: "f", count: 64))/-1/x",
      "/r/\(String(repeating: "f", count: 64))/99999999999999999999/x", "/r/x/y/z",
      "/static/0/app.css",
      "/static/0/../app.css%00"
        .replacing("../", with: "x/").replacing("%00", with: ""), "/day/2024-05-17/x", "/day/",
      "/day/2024-5-1", "/day/%e2%80%ae", "/.git/config", "/.env", "/wp-login.php", "/index.html",
      "/" + String(repeating: "a/", count: 500), "/iiif/2/\(id)/info.json", "/login",
      "/iiif", "/iiif/3", "/iiif/3/", "/iiif/3/x", "/iiif/3/\(id)/", "/iiif/3/\(id)/full",
      "/iiif/3/\(id)/full/max/0/default.jpg/x", "/iiif/3/album/x/manifest.json",
      "/iiif/3/album/..%2f/manifest.json", "/iiif/3/\(id)/%00/max/0/default.jpg",

      "/proc/self/environ", "/healthz/x", "/metrics/x", "/favicon.ico", "/api/v1/assets/x",
      "/api/v1/assets/\(id)/x",
    ]
    let wrong = [
      "/api/v1/assets?limit=0", "/api/v1/assets?limit=-1", "/api/v1/assets?limit=1e9",
      "/api/v1/assets?limit=99999999999999999999", "/api/v1/assets?from=x", "/?after=x",
      "/?q=(((", "/?q=%22", "/?q=or", "/?sort=nothing", "/api/v1/grid?sort=-", "/api/v1/grid?q=)",
      "/?q=\(String(repeating: "(", count: 500))x", "/?q=-", "/api/v1/failures?q=camra:x",
      "/?q=taken:9999999999", "/?q=near:x", "/?q=@nothing",
    ]
    let images = [
      "99999999999,0,1,1/max/0/default.jpg", "0,0,0,0/max/0/default.jpg",
      "-1,0,5,5/max/0/default.jpg",
      "pct:nan,0,5,5/max/0/default.jpg", "pct:0,0,1e308,1e308/max/0/default.jpg",
      "full/99999,99999/0/default.jpg", "full/^99999,/0/default.jpg", "full/^pct:1e9/0/default.jpg",
      "full/pct:99999999999999999999/0/default.jpg", "full/,/0/default.jpg",
      "full/max/99999/default.jpg", "full/max/-0/default.jpg", "full/max/0/default.svg",
      "full/max/0/default.%00", "full/max/0/%3Cscript%3E.jpg", "%E2%80%AE/max/0/default.jpg",
    ].map { "/iiif/3/\(id)/\($0)" }
    let fine = [
      "/?q='%20OR%201=1%20--", "/?q=%3Cscript%3E", "/?q=%E2%80%AE", "/?q=name:*%3F*%3F*%3F*x",
      "/?q=\(String(repeating: "a+", count: 1500))", "/api/v1/complete?q=%22%5C",
      "/api/v1/complete?q=%C3%A9:", "/?nothing=1", "/?=&&=", "/?q=&sort=", "/day/9999-99-99",
    ]
    return wayOut.map { get($0, 400, 404) } + nowhere.map { get($0, 404, 400) }
      + (wrong + images).map { get($0, 400) } + fine.map { get($0, 200, 400, 404) }
      + [
        get("/" + String(repeating: "a", count: 9000), 414),
        get("/?q=" + String(repeating: "a", count: 9000), 414),
        get("/" + String(repeating: "a", count: 100_000), 414, 431, 413, 0),
        get("http://localhost/api/v1/grid", 200), get("http://evil.example/", 400),
        get("https://evil.example:443/", 400), get("http://localhost@evil.example/", 400),
        get("http://", 400), get("file:///etc/passwd", 400), get("*", 400),
        get("evil.example:443", 400),
        get("\\\\server\\share", 400),
      ]
  }

  private static let hosts: [HostileRequest] = [
    HostileRequest("GET / HTTP/1.1\nHost: evil.example" + end, 421),
    HostileRequest("GET / HTTP/1.1\nHost: localhost\nHost: evil.example" + end, 400),
    HostileRequest("GET / HTTP/1.1\nHost: localhost\nhost: localhost" + end, 400),
    HostileRequest("GET / HTTP/1.1" + end, 400),
    HostileRequest("GET / HTTP/1.1\nHost:" + end, 400),
    HostileRequest("GET / HTTP/1.1\nHost: localhost, evil.example" + end, 400),
    HostileRequest("GET / HTTP/1.1\nHost: localhost.evil.example" + end, 421),
    HostileRequest("GET / HTTP/1.1\nHost: 127.0.0.1.evil.example" + end, 421),
    HostileRequest("GET / HTTP/1.1\nHost: 2130706433" + end, 421),
    HostileRequest("GET / HTTP/1.1\nHost: 127.1" + end, 421),
    HostileRequest("GET / HTTP/1.1\nHost: [::ffff:127.0.0.1]" + end, 421),
    HostileRequest("GET / HTTP/1.1\nHost: [::1" + end, 400),
    HostileRequest("GET / HTTP/1.1\nHost: localhost:99999999" + end, 400),
    HostileRequest("GET / HTTP/1.1\nHost: localhost:80:80" + end, 400),
    HostileRequest("GET / HTTP/1.1\nHost: local\u{0}host" + end, 400, 421, 0),
    HostileRequest("GET / HTTP/1.1\nHost: \(String(repeating: "a", count: 1000))" + end, 400),
    HostileRequest("GET / HTTP/1.0\n\n", 400),
    HostileRequest("GET http://localhost/ HTTP/1.1\nHost: evil.example" + end, 421),
  ]

  private static func heads(_ id: String) -> [HostileRequest] {
    let start = "GET /o/\(id) HTTP/1.1\nHost: localhost\n"
    return [
      HostileRequest("", 0), HostileRequest("\n", 0, 400), HostileRequest("\n\n\n\n", 0, 400),
      HostileRequest("GET", 0, 400), HostileRequest("GET /\n\n", 0, 400, 505),
      HostileRequest("GET / HTTP/9.9\nHost: localhost" + end, 505, 400, 0, 200),
      HostileRequest("GET / HTTP/1.1\nHost: localhost\nno colon" + end, 400, 0, 200),
      HostileRequest("GET / HTTP/1.1\nHost: localhost\n: empty" + end, 400, 0, 200),
      HostileRequest("GET / HTTP/1.1\nHost: localhost\n folded: x" + end, 400, 0, 200),
      HostileRequest(
        "GET / HTTP/1.1\nHost: localhost\nX: \(String(repeating: "x", count: 60_000))" + end, 431,
        413, 0),
      HostileRequest(
        "GET / HTTP/1.1\nHost: localhost\n" + String(repeating: "X: y\n", count: 5000) + "\n", 431,
        413, 0),
      HostileRequest("GET  /  HTTP/1.1\nHost: localhost" + end, 400, 404, 0, 200),
      HostileRequest("GET /\u{1}\u{2} HTTP/1.1\nHost: localhost" + end, 400),
      HostileRequest("GET / HTTP/1.1\rHost: localhost\r\r", 0, 400),
      HostileRequest(
        bytes: Array("GET / HTTP/1.1\nHost: localhost\nConnection: close\n\n".utf8), 200, 400, 0),
      HostileRequest(bytes: [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00], 0, 400),
      HostileRequest("PRI * HTTP/2.0\n\nSM\n\n", 0, 400, 405, 505),
      HostileRequest(bytes: Array(repeating: 0, count: 3000), 0, 400),
      HostileRequest(bytes: Array(repeating: 0xFF, count: 3000), 0, 400, 431, 414),
      HostileRequest(start + "Range: bytes=0-0,1-1,2-2" + end, 200),
      HostileRequest(start + "Range: bytes=-\nIf-Range: x" + end, 200),
      HostileRequest(
        start + "Range: bytes=9223372036854775807-9223372036854775807" + end, 416, 200),
      HostileRequest(start + "Range: \(String(repeating: "0-1,", count: 2000))" + end, 200),
      HostileRequest(
        start + "If-None-Match: \(String(repeating: "\"a\",", count: 2000))" + end, 200),
      HostileRequest(
        start + "Accept-Encoding: \(String(repeating: "gzip;q=0,", count: 800))" + end, 200),
      HostileRequest(
        start + "Cookie: \(String(repeating: "pipeline=x;", count: 800))" + end, 200, 431),
      HostileRequest(
        start + "Authorization: Bearer \(String(repeating: "x", count: 8000))" + end, 200),
      HostileRequest(start + "Upgrade: websocket\nConnection: Upgrade\n\n", 200, 400),
      HostileRequest(start + "Expect: 100-continue" + end, 100, 200, 417),
      HostileRequest(start + "X-Original-URL: /secret\nX-Forwarded-Host: evil.example" + end, 200),
    ]
  }

  private static let bodies: [HostileRequest] = {
    let edit = "POST /api/v1/edit HTTP/1.1\nHost: localhost\nContent-Type: application/json\n"
    return [
      HostileRequest(edit + "Content-Length: -1" + end, 400, 0),
      HostileRequest(edit + "Content-Length: x" + end, 400, 0),
      HostileRequest(edit + "Content-Length: 99999999999999999999" + end, 400, 413, 0),
      HostileRequest(edit + "Content-Length: 99999999" + end, 413),
      HostileRequest(edit + "Content-Length: 2\nContent-Length: 3" + end + "{}", 400, 0),
      HostileRequest(
        edit + "Content-Length: 2\nTransfer-Encoding: chunked" + end + "0\n\n", 400, 0),
      HostileRequest(edit + "Transfer-Encoding: chunked" + end + "zz\n\n", 400, 0),
      HostileRequest(
        edit + "Transfer-Encoding: chunked" + end + "FFFFFFFFFFFFFFFF\n\n", 400, 413, 0),
      HostileRequest(edit + "Transfer-Encoding: gzip, chunked" + end + "0\n\n", 400, 0, 501),
      HostileRequest(edit + "Content-Length: 100" + end + "{", 0, 400),
      HostileRequest(edit + "Content-Length: 2" + end + "{}", 400, 403),
      HostileRequest(
        edit + "Content-Length: 600" + end + String(repeating: "[", count: 600), 400, 403),
      HostileRequest(
        "GET / HTTP/1.1\nHost: localhost\nContent-Length: 5" + end + "hello", 200, 400),
      HostileRequest(
        "POST /api/v1/edit HTTP/1.1\nHost: localhost\nOrigin: null\nContent-Type: application/json\nContent-Length: 2"
          + end + "{}", 403),
      HostileRequest(
        "POST /api/v1/edit HTTP/1.1\nHost: localhost\nContent-Length: 2" + end + "{}", 415),
    ]
  }()

  private static let methods: [HostileRequest] = [
    "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "PROPFIND", "MKCOL", "MOVE", "get", "G\u{0}ET",
    "POST",
    String(repeating: "A", count: 5000), "GET\t",
  ].map {
    HostileRequest("\($0) / HTTP/1.1\nHost: localhost" + end, 405, 400, 501, 0)
  }

  // MARK: Mutations

  /// What mutations begin with.
  static func seeds(_ id: String, _ url: String) -> [[UInt8]] {
    let json = "{\"ids\":[\"\(id)\"],\"tag\":{\"add\":[\"x\"]},\"rate\":3,\"trash\":true}"
    let heads = [
      "GET / HTTP/1.1\nHost: localhost\nAccept-Encoding: gzip\n\n",
      "GET /?q=camera:fuji+-tag:x&sort=-taken,name&after=\(id) HTTP/1.1\nHost: localhost\n\n",
      "GET /a/\(id)?q=kind%3Aimage HTTP/1.1\nHost: 127.0.0.1:8420\nCookie: pipeline=x\n\n",
      "GET /api/v1/assets?from=\(id)&limit=3 HTTP/1.1\nHost: [::1]\nIf-None-Match: \"a\"\n\n",
      "GET /api/v1/grid?sort=name HTTP/1.1\nHost: localhost\nAccept-Encoding: gzip;q=0.1\n\n",
      "GET /api/v1/complete?q=kind:im HTTP/1.0\nHost: localhost\n\n",
      "HEAD /\(url) HTTP/1.1\nHost: localhost\n\n",
      "GET /o/\(id) HTTP/1.1\nHost: localhost\nRange: bytes=10-200\nIf-Range: \"x\"\n\n",
      "GET /iiif/3/\(id)/0,0,100,100/50,/90/gray.png HTTP/1.1\nHost: localhost\nAccept: */*\n\n",
      "GET /iiif/3/\(id)/info.json HTTP/1.1\nHost: localhost\nAccept: application/ld+json\n\n",
      "GET /work HTTP/1.1\nHost: localhost\nAuthorization: Bearer x\n\n",
      "POST /api/v1/edit HTTP/1.1\nHost: localhost\nOrigin: http://localhost\n"
        + "Content-Type: application/json\nContent-Length: \(json.utf8.count)\n\n\(json)",
      "POST /api/v1/retry HTTP/1.1\nHost: localhost\nContent-Type: application/json\n"
        + "Transfer-Encoding: chunked\n\n10\n{\"q\":\"is:failed\"\n1\n}\n0\n\n",
    ]
    return heads.map { Array($0.replacing("\n", with: "\r\n").utf8) }
  }

  private static let scraps: [[UInt8]] = [
    "..", "%2e", "%2f", "%00", "%", "\r\n", "\n", "\0", "\r\n\r\n", "Host: x\r\n", "\u{202e}", "é",
    "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "?", "&", "=", "/", "//", "#", "\"",
    "99999999999999999999", "-1", " HTTP/1.1", "(", "\\", ";", ",", "bytes=", "[", "{\"",
  ].map { Array($0.utf8) }

  /// A seed with some changes.
  static func mutated(_ seeds: [[UInt8]], _ random: inout SeededRandom) -> [UInt8] {
    var bytes = seeds.randomElement(using: &random) ?? []
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      guard !bytes.isEmpty else { break }
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes[place] = .random(in: 0...255, using: &random)
      case 1: bytes.remove(at: place)
      case 2: bytes.insert(contentsOf: scraps.randomElement(using: &random) ?? [], at: place)
      case 3:
        bytes.removeSubrange(
          place..<min(bytes.count, place + Int.random(in: 1...40, using: &random)))
      case 4:
        let end = min(bytes.count, place + Int.random(in: 1...60, using: &random))
        bytes.insert(
          contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &random))
      default:
        let scrap = scraps.randomElement(using: &random) ?? []
        let count = Int.random(in: 1...300, using: &random)
        bytes.insert(contentsOf: (0..<count).flatMap { _ in scrap }, at: place)
      }
    }
    return bytes
  }
}
