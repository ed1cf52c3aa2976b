import Compression
import Query
import Testing

@testable import Web

@Suite("Pages", .timeLimit(.minutes(1)))
struct PageTests {
  private func html(_ write: (inout HTMLWriter) -> Void) -> String {
    var html = HTMLWriter()
    write(&html)
    return String(decoding: html.bytes.dropFirst("<!doctype html>\n".utf8.count), as: UTF8.self)
  }

  @Test("No text becomes markup, in an element or in an attribute")
  func escaping() {
    let hostile = "</p><script>\"'&\u{0}\u{1b}é"
    let shown = "&lt;/p&gt;&lt;script&gt;&quot;&#x27;&amp;\u{FFFD}\u{FFFD}é"
    #expect(html { $0.element("p", hostile) } == "<p>\(shown)</p>")
    #expect(
      html { $0.void("img", ["alt": hostile, "loading": nil, "hidden": ""]) }
        == "<img alt=\"\(shown)\" hidden>")
    #expect(html { $0.void("input", ["value": ""]) } == "<input value=\"\">")
  }

  @Test(
    "Scripts are sent without comments and spaces that mean nothing",
    arguments: [
      (
        "// Why.\nexport const a = 1; // one\n\n  /** What. */\n  f();\n",
        "export const a=1;f();\n"
      ),
      ("let a = b\n  + c\nreturn d", "let a=b\n+c\nreturn d\n"),
      ("a + +b - -c; d ++ + e", "a+ +b- -c;d++ +e\n"),
      (
        "f(`x  ${g({ a: 1 })} // y`, ' \\' // ')",
        "f(`x  ${g({ a: 1 })} // y`,' \\' // ')\n"
      ),
      ("x = a / b / c; y.match( /\"[/\"]/ )", "x=a/b/c;y.match(/\"[/\"]/)\n"),
      ("if (a) {\n  b();\n}\nc", "if(a){b()}\nc\n"),
    ])
  func compactScript(source: String, expected: String) {
    #expect(
      String(decoding: CompactSource.compact(Array(source.utf8), .script), as: UTF8.self)
        == expected)
  }

  @Test("Styles are sent without comments and spaces that mean nothing")
  func compactStyle() {
    let style = """
      /* All */
      a > b, c :hover { --d: 1px; e: calc(1px + 2px) /* of */ url("data: a, b") !important; }
      @media (max-width: 9px) and (hover: none) { f { g: h } }
      """
    #expect(
      String(decoding: CompactSource.compact(Array(style.utf8), .style), as: UTF8.self)
        == "a>b,c :hover{--d:1px;e:calc(1px + 2px) url(\"data: a, b\") !important}"
        + "@media (max-width:9px) and (hover:none){f{g:h}}\n")
  }

  @Test("All scripts and styles together are at most 60 kB")
  func size() {
    #expect(StaticFiles.size.plain <= 60_000 && StaticFiles.size.packed < 30_000)
  }

  @Test("Links percent-encode everything but unreserved characters")
  func links() {
    #expect(
      URLText.query([("q", "tag=\"a b\"&c#é/?"), ("sort", nil), ("n", "")])
        == "?q=tag%3D%22a%20b%22%26c%23%C3%A9%2F%3F&n=")
    #expect(URLText.query([("q", nil)]).isEmpty)
  }

  @Test(
    "A download's name tells no browser anything else",
    arguments: [
      ("IMG_1.jpg", "attachment; filename=\"IMG_1.jpg\"; filename*=UTF-8''IMG_1.jpg"),
      (
        "a\"b\r\nSet-Cookie: x/../é.svg",
        "attachment; filename=\"a_b__Set-Cookie_ x_.._" + "_.svg\"; "
          + "filename*=UTF-8''a%22b__Set-Cookie_%20x_.._%C3%A9.svg"
      ),
      ("gpj.\u{202e}exe", "attachment; filename=\"gpj._exe\"; filename*=UTF-8''gpj._exe"),
    ])
  func disposition(name: String, expected: String) {
    #expect(BrowserType.disposition(name).value == expected)
  }

  @Test("No value of a header begins another one")
  func headers() {
    #expect(Header("X", "a\r\nB: c\u{e9}\0").value == "aB: c")
  }

  @Test("Numbers and times read as people write them")
  func wording() {
    #expect(PageWording.number(1_234_567) == "1,234,567" && PageWording.number(999) == "999")
    #expect(PageWording.number(-1000) == "-1,000" && PageWording.number(.min).hasPrefix("-9,223,"))
    #expect(PageWording.bytes(999) == "999 B" && PageWording.bytes(135_100) == "135 kB")
    #expect(
      PageWording.bytes(19_700_000_000) == "19.7 GB" && PageWording.bytes(999_960) == "1.0 MB")
    #expect(PageWording.day("2026-11-22") == "Sunday, 22 November 2026")
    #expect(PageWording.day("1969-12-31") == "Wednesday, 31 December 1969")
    #expect(PageWording.day("2026-13-01") == "2026-13-01" && PageWording.day("x") == "x")
    #expect(PageWording.duration(17.2) == "0:17" && PageWording.duration(3723) == "1:02:03")
    #expect(PageWording.duration(.infinity).isEmpty && PageWording.duration(-1).isEmpty)
    #expect(PageWording.exposure(0.004) == "1/250 s" && PageWording.exposure(0.5) == "0.5 s")
    #expect(PageWording.plain(4) == "4" && PageWording.plain(2.8) == "2.8")
    #expect(
      PageWording.decimal(-48.1430004, 5) == "-48.14300" && PageWording.decimal(-0.001, 2) == "0.00"
    )
    #expect(PageWording.span(21) == "21 s" && PageWording.span(300) == "5 min")
    #expect(GalleryAsset.time(-1) == "1969-12-31T23:59:59")
    #expect(GalleryAsset.time(1_715_949_000_000_000) == "2024-05-17T12:30:00")
  }

  @Test("The last word of a query is completed, and a completed value is read as it was meant")
  func completion() throws {
    #expect(Completion.lastWord(of: "a tag:\"x y") == "tag:\"x y")
    #expect(Completion.lastWord(of: "a -ca") == "ca" && Completion.lastWord(of: "a ").isEmpty)
    for value in ["fuji", "Canon EOS R6", "a\"b\\c", "-x", "(y)", "é", "or", "a:b", "*"] {
      let filter = try Filter(query: "tag=\(Completion.quoted(value))")
      #expect(filter == .text(.tag, .equals(value)), "\(value)")
    }
  }

  @Test("Every file of the pages is served, and none but these")
  func files() throws {
    #expect(StaticFiles.has("app.css") && StaticFiles.has("app.js") && StaticFiles.has("icon.svg"))
    let sheet = try #require(StaticFiles.file("app.css", version: StaticFiles.version))
    #expect(sheet.type == "text/css; charset=utf-8" && sheet.plain.count > 100)
    #expect(StaticFiles.file("app.css", version: "0") == nil)
    #expect(StaticFiles.file("../app.css", version: StaticFiles.version) == nil)
  }

  @Test("gzip's bytes are what was packed")
  func gzip() throws {
    let bytes = (0..<100_000).map { UInt8($0 / 100 % 7) }
    let packed = try #require(Zlib.gzip(bytes))
    #expect(packed.count < 2000 && packed.prefix(2) == [0x1F, 0x8B])
    // The last four bytes are the length. Source: RFC 1952.
    #expect(packed.suffix(4) == [0xA0, 0x86, 0x01, 0x00])
    #expect(try #require(Zlib.gzip([])).suffix(4) == [0, 0, 0, 0])
  }
}
