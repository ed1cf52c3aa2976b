import Fixtures
import Foundation
import PipelineModel
import PipelinePlugin
import Testing
import Vips

/// Thumbnails of SVG and PDF, which describe shapes.
@Suite("Thumbnails of drawings", .timeLimit(.minutes(3)))
struct ThumbnailDrawingTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  private static let red = "<rect width=\"5\" height=\"10\" fill=\"#f00\"/>"
  private static let blue = "<rect x=\"5\" width=\"5\" height=\"10\" fill=\"#00f\"/>"
  private static let halves = Pictures.Page(
    ("10", "10"), "1 0 0 rg 0 0 5 10 re f 0 0 1 rg 5 0 5 10 re f")

  @Test("Drawings are drawn in the size that is asked for, with crisp edges")
  func crisp() throws {
    let files: [(String, [UInt8])] = [
      (
        "SVG",
        Pictures.svg(
          Self.red + Self.blue, size: "width=\"10pt\" height=\"10pt\" viewBox=\"0 0 10 10\"")
      ),
      ("SVG without a size", Pictures.svg(Self.red + Self.blue, size: "viewBox=\"0 0 10 10\"")),
      ("PDF", Pictures.pdf(pages: [Self.halves])),
    ]
    for (name, bytes) in files {
      for options: [String: JSONValue] in [[:], ["scaling": "exact"]] {
        var options = options
        options["format"] = "png"
        let picture = try run.thumbnail(bytes, maxPixelSize: 256, options: options).picture
        try #require(picture.width == 256 && picture.height == 256, "\(name)")
        let row = picture.pixels[(100 * 256 * 3)..<(101 * 256 * 3)]
        let blurred = stride(from: row.startIndex, to: row.endIndex, by: 3).count {
          row[$0] > 8 && row[$0 + 2] > 8
        }
        #expect(blurred <= 2, "\(name): \(blurred) pixels are of both colours")
        let colors = picture.corners
        #expect(Pictures.distance(colors[0], [255, 0, 0]) < 6, "\(name)")
        #expect(Pictures.distance(colors[1], [0, 0, 255]) < 6, "\(name)")
      }
    }
  }

  @Test(
    "Drawings that say little of their size fill the picture",
    arguments: [
      ("width=\"10pt\" height=\"10pt\"", 40.0 / 3), ("width=\"2.54mm\" height='2.54mm'", 9.6),
      ("width=\"10\" height=\"10\"", 10), ("width=\"100%\"", 20), ("height=\"10\"", 20), ("", 20),
    ])
  func size(attributes: String, width: Double) throws {
    let content =
      "<rect width=\"4\" height=\"20\" fill=\"#f00\"/>"
      + "<rect x=\"4\" width=\"16\" height=\"20\" fill=\"#00f\"/>"
    let plain = Pictures.svg(content, size: attributes)
    let text = String(decoding: plain, as: UTF8.self)
    let wide = "\u{FEFF}" + text.replacing("UTF-8", with: "UTF-16")
    let little = Array(try #require(wide.data(using: .utf16LittleEndian)))
    let big = Array(try #require(wide.data(using: .utf16BigEndian)))
    for bytes in [plain, little, big] {
      let picture = try run.thumbnail(bytes, maxPixelSize: 256, options: ["format": "png"]).picture
      try #require(picture.width == 256 && picture.height == 256)
      let row = picture.pixels[(100 * 256 * 3)..<(101 * 256 * 3)]
      let red = stride(from: row.startIndex, to: row.endIndex, by: 3).count { row[$0] > 128 }
      #expect(abs(Double(red) - 256 * 4 / width) <= 2, "\(red) of 256 columns are red")
      #expect(Pictures.distance(picture.corners[3], [0, 0, 255]) < 6)
    }
  }

  private static let root =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"10\" height=\"10\">\(red)</svg>"

  @Test(
    "Drawings are found behind comments, white space and declarations",
    arguments: [
      "<!-- made by hand -->", " \n", "<!-- \(String(repeating: "x", count: 3000)) -->",
      "<!DOCTYPE svg [ <!-- ]> ' --> <!ENTITY a '>'> ]>", "<?xml-stylesheet href=\"<svg>\"?>",
    ])
  func lateRoot(start: String) throws {
    let text = start + Self.root
    let utf16 = try #require("\u{FEFF}\(text)".data(using: .utf16LittleEndian))
    for bytes in [Array(text.utf8), Array(utf16)] {
      #expect(DrawingRoot.isDrawing(bytes))
      let picture = try run.thumbnail(bytes, maxPixelSize: 64).picture
      #expect(Pictures.distance(picture.corners[0], [255, 0, 0]) < 8)
    }
  }

  @Test("Documents are found behind other bytes")
  func lateDocument() throws {
    let page = Pictures.pdf(pages: [Self.halves])
    let late = try run.thumbnail(Array("\r\nContent-Type: application/pdf\r\n\r\n".utf8) + page)
    #expect(Pictures.distance(late.picture.corners[0], [255, 0, 0]) < 8)
  }

  @Test(
    "What only mentions a drawing is none",
    arguments: [
      "<!-- <svg> -->", "<p><svg/></p>", "text <svg></svg>", "<!-- <svg", "<svgx></svgx>",
      "<!DOCTYPE svg [ <svg></svg> ",
    ])
  func noRoot(text: String) throws {
    #expect(!DrawingRoot.isDrawing(Array(text.utf8)))
    // libvips takes some for drawings, and then finds nothing in them.
    #expect(try run.failure(Array(text.utf8)).class == .permanent)
  }

  @Test("A start tag that ends beyond what is looked at is left as it is")
  func longProlog() throws {
    let comment = "<!-- \(String(repeating: "x", count: 65_450)) -->"
    let root =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"10mm\" height=\"10mm\" viewBox=\"0 0 10 10\">"
    let bytes = Array("\(comment)\(root)\(Self.red)</svg>".utf8)
    try #require(comment.utf8.count < 65_536 && comment.utf8.count + root.utf8.count > 65_536)
    let picture = try run.thumbnail(bytes, maxPixelSize: 64).picture
    #expect(Pictures.distance(picture.corners[0], [255, 0, 0]) < 8)
  }

  @Test("What is transparent in a drawing is white in a JPEG, and transparent elsewhere")
  func alpha() throws {
    for bytes in [
      Pictures.svg(Self.red, size: "width=\"10\" height=\"10\""),
      Pictures.pdf(pages: [Pictures.Page(("10", "10"), "1 0 0 rg 0 0 5 10 re f")]),
    ] {
      for format in ["jpeg", "png", "webp"] {
        let made = try run.thumbnail(bytes, maxPixelSize: 64, options: ["format": .string(format)])
        #expect(Pictures.distance(made.picture.corners[0], [255, 0, 0]) < 8, "\(format)")
        #expect(Pictures.distance(made.picture.corners[1], [255, 255, 255]) < 8, "\(format)")
        if format == "jpeg" { #expect(made.picture.bands == 3) }
      }
    }
    for format in ["png", "webp"] {
      let clear = try run.thumbnail(
        Pictures.svg(Self.red, size: "width=\"10\" height=\"10\""),
        options: ["format": .string(format)])
      #expect(clear.picture.bands == 4, "\(format)")
    }
  }

  @Test("A PDF shows its first page, and identify counts the pages")
  func pages() throws {
    let second = Pictures.Page(("40", "10"), "0 1 0 rg 0 0 40 10 re f")
    let bytes = Pictures.pdf(pages: [Self.halves, second, second])
    let picture = try run.thumbnail(bytes, maxPixelSize: 64).picture
    #expect(picture.width == 64 && picture.height == 64)
    #expect(Pictures.distance(picture.corners[0], [255, 0, 0]) < 8)
    let facts = try PluginRun("identify").facts(bytes)
    #expect(facts["pages"] == 3 && facts["width"] == 10 && facts["height"] == 10)
  }

  @Test("Nothing outside an SVG is read or shown")
  func references() throws {
    let secret = run.folder.appending(path: "secret.png")
    let green = try Pictures.file(try Pictures.plain([0, 255, 0]), ".png")
    try Data(green).write(to: secret)
    try Data(
      Pictures.svg("<g id=\"g\"><rect width=\"10\" height=\"10\" fill=\"#0f0\"/></g>", size: "")
    )
    .write(to: run.folder.appending(path: "other.svg"))
    try Data("<rect width='10' height='10' fill='#0f0'/>".utf8)
      .write(to: run.folder.appending(path: "part.xml"))
    let size = "width=\"10\" height=\"10\""
    let whole = "width=\"10\" height=\"10\""
    let contents: [(String, String)] = [
      ("", "<image \(whole) xlink:href=\"secret.png\"/>"),
      ("", "<image \(whole) xlink:href=\"file://\(secret.path)\"/>"),
      ("", "<image \(whole) href=\"\(secret.path)\"/>"),
      ("", "<image \(whole) xlink:href=\"http://127.0.0.1:9/a.png\"/>"),
      ("", "<image \(whole) xlink:href=\"file:///etc/passwd\"/>"),
      ("", "<use xlink:href=\"other.svg#g\"/>"),
      ("", "<use xlink:href=\"file://\(run.folder.path)/other.svg#g\"/>"),
      ("", "<style>@import url(\"file://\(run.folder.path)/a.css\"); rect { fill: red }</style>"),
      ("", "<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"part.xml\"/>"),
      (
        "<!DOCTYPE svg [<!ENTITY part SYSTEM \"file://\(run.folder.path)/part.xml\">]>\n", "&part;"
      ),
      (
        "<!DOCTYPE svg [<!ENTITY part SYSTEM \"file:///etc/passwd\">]>\n",
        "<text y=\"9\">&part;</text>"
      ),
    ]
    for (before, content) in contents {
      let bytes = Pictures.svg(content, size: size, before: before)
      let result = try run.process(
        bytes, name: "a.svg",
        options: ["sizes": [["name": "one", "maxPixelSize": 64, "format": "png"]]])
      switch result {
      case .failed(let failure): run.expectSentence(failure.reason)
      case .done(_, let renditions):
        let rendition = try #require(renditions.first)
        let made = try PicturesReading(
          Array(try Data(contentsOf: run.output.appending(path: rendition.path))))
        #expect(
          made.pixels.allSatisfy { $0 == 255 }, "something is shown of \(content)")
      default: Issue.record("\(result)")
      }
    }
    // That the picture would be seen if it were read: a picture within the file is.
    let inside = Data(green).base64EncodedString()
    let shown = try run.thumbnail(
      Pictures.svg("<image \(whole) xlink:href=\"data:image/png;base64,\(inside)\"/>", size: size),
      maxPixelSize: 64)
    #expect(Pictures.distance(shown.picture.corners[0], [0, 255, 0]) < 8)
  }

  @Test("Drawings made to exhaust the machine fail with a reason", .timeLimit(.minutes(1)))
  func bombs() throws {
    let entities = (1...9).map { level in
      "<!ENTITY a\(level) \"" + String(repeating: "&a\(level - 1);", count: 10) + "\">"
    }
    let laughs = Pictures.svg(
      "<text y=\"9\">&a9;</text>", size: "width=\"10\" height=\"10\"",
      before: "<!DOCTYPE svg [<!ENTITY a0 \"ha\">\(entities.joined())]>\n")
    let nodes = Pictures.svg(
      String(repeating: "<g/>", count: 2_000_000), size: "width=\"10\" height=\"10\"")
    let uses = (1...9).map { level in
      "<g id=\"g\(level)\">"
        + String(repeating: "<use xlink:href=\"#g\(level - 1)\"/>", count: 10) + "</g>"
    }
    let copies = Pictures.svg(
      "<rect id=\"g0\" width=\"1\" height=\"1\"/>" + uses.joined(),
      size: "width=\"10\" height=\"10\"")
    for (name, bytes) in [("entities", laughs), ("nodes", nodes), ("copies", copies)] {
      let failure = try run.failure(bytes, type: "image/svg+xml")
      #expect(failure.class == .permanent, "\(name): \(failure.reason)")
    }
    // Its frame has four tags.
    let most = String(repeating: "<g/>", count: 200_000)
    let dense = try run.failure(Pictures.svg(most, size: ""), type: "image/svg+xml")
    #expect(dense.reason.contains("200000 tags"), "\(dense.reason)")
    let long = Pictures.svg(
      String(repeating: " ", count: 11 << 20), size: "width=\"10\" height=\"10\"")
    #expect(try run.failure(long, type: "image/svg+xml").reason.contains("10 MiB"))
  }

  @Test("A PDF that is locked or empty fails, and a page of odd size has a bounded picture")
  func oddDocuments() throws {
    let zeros = String(repeating: "41", count: 32)
    let locked = Pictures.pdf(
      pages: [Self.halves],
      trailer: "/Encrypt<</Filter/Standard/V 1/R 2/O<\(zeros)>/U<\(zeros)>/P -1>>/ID[<00><00>]")
    #expect(try run.failure(locked).reason.contains("encrypted"))
    #expect(try run.failure(Pictures.pdf(pages: [])).class == .permanent)
    // Ten kilometres: libvips says that it has one pixel.
    let wide = Pictures.pdf(pages: [Pictures.Page(("28346456", "28346456"), "")])
    #expect(try run.failure(wide).reason.contains("too large"))
    let facts = try PluginRun("identify").facts(wide)
    #expect(facts["width"] == nil && facts["problem"]?.string?.contains("too large") == true)
    // Without a size, a page is a Letter; of ten metres it is drawn small.
    for (size, width, height) in [("0", 49, 64), ("28346", 64, 64)] {
      let bytes = Pictures.pdf(pages: [Pictures.Page((size, size), "")])
      let picture = try run.thumbnail(bytes, maxPixelSize: 64).picture
      #expect(picture.width == width && picture.height == height)
      #expect(try PluginRun("identify").facts(bytes)["problem"] == nil)
    }
    let strip = Pictures.svg(Self.red, size: "width=\"1e9\" height=\"1e9\"")
    let result = try run.process(strip)
    if case .failed(let failure) = result { run.expectSentence(failure.reason) }
  }
}
