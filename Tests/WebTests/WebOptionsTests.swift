import LibrarySession
import PipelineModel
import Testing

@testable import Web

@Suite("Options of serve", .timeLimit(.minutes(1)))
struct WebOptionsTests {
  @Test(
    "Places are addresses in numbers, sockets, or the service manager's",
    arguments: [
      ("127.0.0.1:8420", .address("127.0.0.1", 8420)), ("[::1]:1", .address("::1", 1)),
      ("localhost:0", .address("127.0.0.1", 0)), ("unix:s", .socket("/w/s")),
      ("systemd", .inherited), ("8420", nil), ("example.org:80", nil), ("127.0.0.1:65536", nil),
      ("unix:", nil), (":80", nil), ("127.0.0.1:", nil),
    ] as [(String, WebOptions.Place?)])
  func places(text: String, expected: WebOptions.Place?) {
    #expect(WebOptions.Place(.init(text)) { .init("/w/\($0)") } == expected)
  }

  @Test("A base URL has a host and a plain path")
  func base() {
    let base = BaseURL("https://Example.org:444/pictures")
    #expect(base?.host == "example.org" && base?.path == "/pictures/" && base?.isSecure == true)
    #expect(BaseURL("http://a")?.path == "/")
    for text in [
      "", "example.org", "ftp://a/", "https:///x", "https://a/../b", "https://a/?q", "https://a//b",
    ] {
      #expect(BaseURL(text) == nil, "\(text)")
    }
  }
}
