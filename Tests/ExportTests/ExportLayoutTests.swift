import PipelineModel
import Query
import Testing

@testable import Export

/// Layouts, and the paths that result from them.
@Suite("Layouts of exports", .timeLimit(.minutes(1)))
struct ExportLayoutTests {
  private static let values: AssetValues = {
    var values = AssetValues()
    values.add(identity: ["mediaType": "image/jpeg", "capturedAt": "2024-05-07T08:09:10+02:00"])
    values.add(metadata: ["exif": ["Make": "A/B", "Model": "..", "ISOSpeedRatings": 400]])
    return values
  }()

  private func path(
    _ layout: String, name: BytePath = "IMG_1.JPG", below: BytePath = "", suffix: String? = nil,
    values: AssetValues = ExportLayoutTests.values
  ) throws -> BytePath {
    try ExportLayout(layout).path(
      for: values, name: name, path: below.appending(name), suffix: suffix)
  }

  @Test(
    "A layout's placeholders stand for what is known of the asset",
    arguments: [
      ("{name}", "IMG_1.JPG"), ("{taken:yyyy}/{taken:MM}/{name}", "2024/05/IMG_1.JPG"),
      ("{taken}-{stem}.{extension}", "2024-05-07-IMG_1.JPG"),
      ("{taken:yyyyMMdd_HHmmss}.{extension}", "20240507_080910.JPG"), ("{path}", "a/b/IMG_1.JPG"),
      ("{folder}/x", "a/b/x"), ("{camera}/{iso}", "A_B ../400"),
      ("{lens}/{name}", "unknown/IMG_1.JPG"),
      ("{lens|no lens}/{name}", "no lens/IMG_1.JPG"), ("{lens|}/{name}", "IMG_1.JPG"),
      ("{{{name}}}", "{IMG_1.JPG}"), ("./{name}", "IMG_1.JPG"), ("x//{name}", "x/IMG_1.JPG"),
      ("{trashed:yyyy|never}", "never"),
    ])
  func placeholders(layout: String, expected: String) throws {
    #expect(try path(layout, below: "a/b") == BytePath(expected))
  }

  @Test("A value never leads out of its folder")
  func hostile() throws {
    var values = AssetValues()
    values.add(metadata: ["exif": ["Model": ".."], "xmp": ["dc:title": "../../etc/pass\u{1B}wd\n"]])
    #expect(try path("{camera}/{name}", values: values) == "_./IMG_1.JPG")
    #expect(try path("{title}", values: values) == ".._.._etc_pass_wd_")
    #expect(try path("{lens|..}/{name}", values: values) == "_./IMG_1.JPG")
    #expect(try path("{lens|}", values: values) == "_")
    // Neither a whole part nor what is left of one may be `..`.
    for name in ["...", "....", "a.", "a..", ".a", ".."] {
      var values = AssetValues()
      values.add(metadata: ["xmp": ["dc:title": .string(name)]])
      let path = try path("x/{title}", values: values)
      #expect(path == (name == ".." ? "x/_." : BytePath("x/\(name)")))
      #expect(FileName(path.lastComponent).numbered(2) != "..")
    }
    for own in ["SHA256SUMS", "sha256sums", ".pipeline-export"] {
      #expect(try path("\(own)/{name}") == BytePath("_\(own)/IMG_1.JPG"))
      #expect(try path("{name}", name: BytePath(own)) == BytePath("_\(own)"))
      #expect(try path("a/{name}", name: BytePath(own)) == BytePath("a/\(own)"))
    }
  }

  @Test("Names need not be UTF-8, and a rendition has its own extension")
  func names() throws {
    let raw = BytePath(bytes: [0x63, 0xE9, 0x2E, 0x74])
    #expect(try path("{name}", name: raw) == raw)
    #expect(try path("{stem}", name: raw) == BytePath(bytes: [0x63, 0xE9]))
    #expect(try path("{name}", suffix: "webp") == "IMG_1.webp")
    #expect(try path("{path}", below: "a.b/c", suffix: "webp") == "a.b/c/IMG_1.webp")
    #expect(try path("{name}", name: "README", suffix: "jpg") == "README.jpg")
    #expect(try path("{name}", name: ".hidden", suffix: "jpg") == ".hidden.jpg")
    #expect(try path("{stem}|{extension|none}", name: "README") == "README|none")
  }

  @Test(
    "A layout that can't be used is an error that names the part",
    arguments: [
      ("", "file name"), ("{name}/", "file name"), ("/a/{name}", "begins with"),
      ("a/../{name}", "leave the folder"), ("{name", "no “}”"), ("name}", "no “{”"),
      ("{camra}", "{camera}"), ("{name:yyyy}", "only times"), ("{taken:YYYY}", "“YYYY”"),
      ("{taken:}", "empty"), ("{}", "no field"),
    ])
  func refused(layout: String, part: String) {
    let error = #expect(throws: ExportError.self) { try ExportLayout(layout) }
    #expect(error?.code == .layout)
    #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
  }

  @Test(
    "A name is shortened to what a file system takes, between characters, and keeps its extension")
  func lengths() throws {
    let long = try path(
      "{name}", name: BytePath("x" + String(repeating: "é", count: 200) + ".jpeg"))
    #expect(long.bytes.count == 254)
    #expect(long.utf8?.hasSuffix("éé.jpeg") == true)
    let numbered = FileName(long).numbered(12)
    #expect(numbered.bytes.count <= 255)
    #expect(numbered.utf8?.hasSuffix("é-12.jpeg") == true)
    #expect(FileName("a.tar.gz").numbered(2) == "a.tar-2.gz")
    #expect(FileName("README").numbered(3) == "README-3")
    #expect(FileName("a.").numbered(2) == "a-2.")
    for (name, other, isNumber) in [
      ("a.jpg", "a.jpg", true), ("a.jpg", "a-12.jpg", true), ("a.jpg", "a-x.jpg", false),
      ("a.jpg", "b-2.jpg", false), ("a.jpg", "a-2.png", false), ("a-2.jpg", "a-2-3.jpg", true),
      ("a.jpg", "a-02.jpg", false), ("a", "a-2", true),
    ] {
      #expect(FileName(BytePath(name)).isNumbered(as: BytePath(other)) == isNumber, "\(other)")
    }
    // What follows the last dot of a sentence is no extension.
    let sentence = BytePath("Mr. " + String(repeating: "x", count: 300))
    #expect(try path("{name}", name: sentence).bytes.count == 255)
  }

  @Test("Metadata is read only for layouts that need it")
  func need() throws {
    #expect(try ExportLayout("{camera}").asksForMetadata)
    #expect(try !ExportLayout("{taken:yyyy}/{kind}/{name}").asksForMetadata)
  }
}
