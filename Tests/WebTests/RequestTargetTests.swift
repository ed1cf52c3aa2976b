import Testing

@testable import Web

@Suite("Addresses of requests", .timeLimit(.minutes(1)))
struct RequestTargetTests {
  private static let hosts: Set<String> = ["localhost", "example.org", "::1"]

  private func target(_ text: String) throws(HTTPError) -> RequestTarget {
    try RequestTarget(Array(text.utf8), hosts: Self.hosts)
  }

  @Test("A path is decoded segment by segment, and a query by name")
  func parts() throws {
    let plain = try target("/a/01a2%2D?q=camera%3Afuji+x%2By&sort=-taken&e")
    #expect(plain.path == ["a", "01a2-"] && !plain.endsWithSlash)
    #expect(plain.query == ["q": "camera:fuji x+y", "sort": "-taken", "e": ""])
    let root = try target("/")
    #expect(root.path.isEmpty && root.endsWithSlash && root.query.isEmpty)
    // A plus is a space in queries only.
    #expect(try target("/r/a+b").path == ["r", "a+b"])
    #expect(try target("/x/%C3%A4%2E%2E").path == ["x", "ä.."])
  }

  @Test("A whole URL is taken if its host is one of the server's")
  func absolute() throws {
    #expect(try target("http://localhost:8420/a/b?q=1").path == ["a", "b"])
    #expect(try target("HTTPS://Example.org").path.isEmpty)
    #expect(try target("http://example.org?q=1").query == ["q": "1"])
    #expect(try target("http://[::1]:1/x").path == ["x"])
    for text in [
      "http://evil.example/", "http://localhost.evil/", "ftp://localhost/", "http://", "*",
    ] {
      let error = #expect(throws: HTTPError.self) { try target(text) }
      #expect(error?.status == 400, "\(text)")
    }
  }

  @Test(
    "What leads elsewhere or is not written as it must be is refused",
    arguments: [
      "", "a", "/..", "/../x", "/a/../b", "/a/./b", "/%2e%2e/x", "/a%2fb", "/a%2Fb", "/a%5cb",
      "/a%00", "/a%", "/a%2", "/a%zz", "/a%ff", "/a%c0%af", "/a b", "/a#b", "/\u{e4}", "/a\n",
      "/a\u{7f}",
      "/?q=1&q=2", "/?q=%00", "/?q=%ff", "/?" + (0..<40).map { "n\($0)=1" }.joined(separator: "&"),
    ])
  func refused(text: String) {
    let error = #expect(throws: HTTPError.self) { try target(text) }
    #expect(error?.status == 400)
  }

  @Test("Empty segments and very deep paths are nowhere, long addresses too long")
  func bounds() {
    #expect(throws: HTTPError.notFound) { try target("//x") }
    #expect(throws: HTTPError.notFound) { try target("/a//b") }
    #expect(throws: HTTPError.notFound) { try target(String(repeating: "/a", count: 100)) }
    let error = #expect(throws: HTTPError.self) {
      try target("/" + String(repeating: "a", count: 9000))
    }
    #expect(error?.status == 414)
  }
}
