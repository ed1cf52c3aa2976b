import PipelineModel
import PipelinePlugin
import Testing

@testable import PluginHost

@Suite("What plugins say of themselves and of files", .timeLimit(.minutes(1)))
struct ResultCheckTests {
  private static func rendition(
    name: String = "grid", path: String = "grid.png", mediaType: String = "image/png",
    from: String? = nil
  ) -> PluginRendition {
    PluginRendition(name: name, path: path, mediaType: mediaType, width: 1, height: 1, from: from)
  }

  @Test("A result that keeps to the rules has no fault")
  func sound() {
    let result = PluginResult.done(
      facts: ["a": [1]],
      renditions: [
        Self.rendition(), Self.rendition(name: "Small_1-x", path: "a/b c.svg", from: "preview"),
        Self.rendition(name: "v", mediaType: "image/svg+xml"),
      ])
    #expect(ResultCheck.fault(in: result) == nil)
    #expect(ResultCheck.fault(in: .skipped(reason: "")) == nil)
  }

  @Test(
    "A rendition whose name, path or type can't be kept is refused",
    arguments: [
      (rendition(name: ""), "is named"), (rendition(name: "a/b"), "is named"),
      (rendition(name: "a\u{1B}"), "is named “a\\u{1b}”"),
      (rendition(name: String(repeating: "n", count: 900_000)), "nnn…”"),
      (rendition(path: "r.bin\0.png"), "no file can have"),
      (rendition(path: String(repeating: "p", count: 5000)), "no file can have"),
      (rendition(path: "../x"), "outside"), (rendition(path: "/etc/passwd"), "outside"),
      (rendition(path: "a//b"), "outside"), (rendition(path: ""), "outside"),
      (rendition(mediaType: ""), "media type “”"), (rendition(mediaType: "image"), "media type"),
      (rendition(mediaType: "a/b/c"), "media type"), (rendition(mediaType: "///"), "media type"),
      (rendition(mediaType: "image/*"), "media type"),
      (rendition(mediaType: "image/\u{1B}[m"), "media type “image/\\u{1b}[m”"),
      (rendition(mediaType: "image/" + String(repeating: "m", count: 900_000)), "m…”"),
      (rendition(from: "../../x"), "source name"), (rendition(from: "\u{202E}"), "source name"),
    ] as [(PluginRendition, String)])
  func refused(rendition: PluginRendition, words: String) throws {
    let fault = try #require(ResultCheck.fault(in: .done(renditions: [rendition])))
    #expect(fault.contains(words), "\(fault)")
    #expect(fault.utf8.count < 500 && fault.printable == fault)
  }

  @Test(
    "Facts that are no object are refused",
    arguments: [[1, 2], "x", 3, true, .null] as [JSONValue])
  func facts(value: JSONValue) {
    #expect(ResultCheck.fault(in: .done(facts: value)) == "the facts are not an object")
  }

  private static let long = String(repeating: "x", count: 900_000)

  @Test(
    "A manifest that says what nobody could print or keep is refused",
    arguments: [
      ("id", "\u{1B}]0;x", "the id"), ("id", .string(long), "the id"),
      ("version", "1\u{1B}[31m", "version is"), ("version", .string(long), "version is"),
      ("runtime", "a\nb", "runtime"), ("runtime", .string(long), "runtime"),
      ("accepts", ["image/\u{1B}"], "accepts names"), ("accepts", ["image"], "accepts names"),
      ("accepts", ["*/png"], "accepts names"), ("facts", ["a\r"], "facts names"),
      ("parts", ["option": "sizes"], "parts names “sizes”"), ("parts", ["option": "list"], ""),
      ("parts", ["option": .string(long)], "parts names"),
      ("parts", ["option": "list", "facts": ["a\r"]], "which is not one of the facts"),
      ("accepts", .array(Array(repeating: "a/b", count: 1001)), "more than 1000"),
      ("options", ["type": "object", "title": ["kkkk": .string(long)]], ""),
      ("options", ["type": "object", "properties": .object([long: [:]])], "128 bytes"),
    ] as [(String, JSONValue, String)])
  func manifests(key: String, value: JSONValue, words: String) throws {
    let sound = FakeBackend.manifest("sound", accepts: ["image/*", "*/*", "text/x-C.d+e"])
    #expect(ManifestCheck.fault(in: sound) == nil)
    let written = try JSONText.decode(JSONValue.self, from: JSONText.encode(sound))
    let members = (written.object ?? [:]).merging([key: value]) { $1 }
    let fault = ManifestCheck.fault(in: try PluginManifest(.object(members)))
    // A long text alone harms nobody.
    if words.isEmpty { return #expect(fault == nil) }
    #expect(fault?.contains(words) == true && fault?.printable == fault, "\(fault ?? "none")")
  }
}
