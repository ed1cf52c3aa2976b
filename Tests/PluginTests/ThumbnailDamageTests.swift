import Fixtures
import PipelineModel
import PipelinePlugin
import Testing
import Vips

@Suite("Thumbnails: damaged data", .timeLimit(.minutes(2)))
struct ThumbnailDamageTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  private static let codings = ["", ",interlace", ",restart_interval=4", ",subsample_mode=off"]

  private func jpeg(_ coding: String) throws -> [UInt8] {
    try Pictures.file(try Pictures.picture(), ".jpg[Q=80,strip\(coding)]")
  }

  /// Where coded data begin, behind the header of the first scan.
  private func scan(of jpeg: [UInt8]) throws -> Int {
    let at = try #require(jpeg.indices.first { jpeg[$0...].starts(with: [0xFF, 0xDA]) })
    return at + 2 + Int(jpeg[at + 2]) << 8 + Int(jpeg[at + 3])
  }

  /// Expects all thumbnails to be marked, and returns the sentence that says why.
  private func damage(
    _ bytes: [UInt8], options: JSONValue = [:], sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    let result = try run.process(bytes, options: options)
    guard case .done(let facts, let renditions) = result else {
      Issue.record("refused: \(result)", sourceLocation: sourceLocation)
      return ""
    }
    #expect(
      !renditions.isEmpty && renditions.allSatisfy { $0.from == "damaged" },
      sourceLocation: sourceLocation)
    let text = try #require(facts["damage"]?.string, sourceLocation: sourceLocation)
    run.expectSentence(text)
    return text
  }

  private func expectWhole(
    _ bytes: [UInt8], options: JSONValue = [:], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    guard case .done(let facts, let renditions) = try run.process(bytes, options: options) else {
      Issue.record("refused", sourceLocation: sourceLocation)
      return
    }
    #expect(facts["damage"] == nil, sourceLocation: sourceLocation)
    #expect(renditions.allSatisfy { $0.from == "image" }, sourceLocation: sourceLocation)
  }

  @Test("A whole picture bears no mark", arguments: ["fast", "exact"])
  func whole(scaling: String) throws {
    let options: JSONValue = ["scaling": .string(scaling)]
    for coding in Self.codings { try expectWhole(try jpeg(coding), options: options) }
    // Bytes behind the end, as phones append them, are no damage.
    try expectWhole(try jpeg("") + [UInt8](repeating: 7, count: 5000), options: options)
    let picture = try Pictures.picture()
    for suffix in [".png", ".png[interlace]", ".tif", ".tif[compression=jpeg]", ".webp", ".gif"] {
      try expectWhole(try Pictures.file(picture, suffix), options: options)
    }
  }

  @Test(
    "A JPEG whose data end inside a segment is half a picture", arguments: ["fast", "exact"])
  func endsInside(scaling: String) throws {
    for coding in ["", ",restart_interval=4"] {
      let bytes = try jpeg(coding)
      let start = try scan(of: bytes)
      let cut = Array(bytes[..<(start + (bytes.count - start) * 6 / 10)]) + [0xFF, 0xD9]
      let failure = try run.failure(cut, options: ["scaling": .string(scaling)])
      #expect(failure.class == .permanent)
      #expect(failure.reason.contains("its data end after"), "\(failure.reason)")
    }
  }

  @Test("A JPEG that lacks little or has too much is marked", arguments: ["fast", "exact"])
  func altered(scaling: String) throws {
    let options: JSONValue = ["scaling": .string(scaling)]
    for coding in Self.codings where coding != ",interlace" {
      let bytes = try jpeg(coding)
      let start = try scan(of: bytes)
      let part = start + (bytes.count - start) / 2
      // Bytes that are left behind the last row: libvips' own loader never looks at them.
      let doubled = Array(bytes[..<part] + bytes[(part - 90)..<part] + bytes[part...])
      let text = try damage(doubled, options: options)
      #expect(text.hasPrefix("The JPEG is damaged: "), "\(text)")
    }
    let bytes = try jpeg("")
    // Of so few rows none comes after the first warning.
    let flat = try Pictures.file(
      try Pictures.picture(width: 400, height: 8), ".jpg[Q=90,strip]")
    for file in [bytes, flat] {
      _ = try damage(Array(file.dropLast(30) + [0xFF, 0xD9]), options: options)
    }
  }

  @Test("A wrong restart marker costs a segment, not the picture")
  func restartMarker() throws {
    let bytes = try jpeg(",restart_interval=1")
    let start = try scan(of: bytes)
    let markers = bytes.indices.dropFirst(start).dropLast().filter {
      bytes[$0] == 0xFF && (0xD0...0xD7).contains(bytes[$0 + 1])
    }
    let wrong = markers[markers.count / 2] + 1
    for marker: UInt8 in 0xD0...0xD7 where marker != bytes[wrong] {
      var changed = bytes
      changed[wrong] = marker
      let text = try damage(changed)
      #expect(text.contains("found marker") || text.contains("RST"), "\(text)")
    }
  }

  @Test("A PNG with a wrong checksum or without its end bears a mark")
  func png() throws {
    let bytes = try Pictures.file(try Pictures.picture(), ".png")
    // The chunk that ends the file has 12 bytes.
    let (body, end) = (bytes.dropLast(12), bytes.suffix(12))
    let wrong = [0, 0, 0, 1] + Array("IDAT".utf8) + [0, 1, 2, 3, 4]
    #expect(try damage(body + wrong + end) == "The PNG is damaged: a checksum is wrong.")
    #expect(try damage(Array(body)) == "The PNG is damaged: it ends too early.")
  }

  @Test("A TIFF whose damage libtiff decodes past is marked")
  func tiff() throws {
    var bytes = try Pictures.file(
      try Pictures.picture(), ".tif[compression=jpeg,Q=80,tile,tile-width=640,tile-height=480]")
    try expectWhole(bytes)
    // An end of image in the middle of the coded data; the directory is behind them.
    bytes.replaceSubrange((bytes.count / 2)..<(bytes.count / 2 + 2), with: [0xFF, 0xD9])
    let text = try damage(bytes)
    #expect(text == "The TIFF is damaged: premature end of data segment.", "\(text)")
    // The next one is not taken for that one.
    try expectWhole(try Pictures.file(try Pictures.picture(), ".tif"))
  }

  @Test("Of frames and pages the first is shown if it is whole", arguments: [".gif", ".tif"])
  func laterFrames(suffix: String) throws {
    let colors: [[UInt8]] = [[200, 80, 40], [20, 30, 220], [10, 10, 10]]
    let bytes = try Pictures.frames(colors, as: suffix)
    try expectWhole(bytes)
    let cut = Pictures.truncated(bytes, to: 0.6)
    let text = try damage(cut)
    #expect(text.contains("after the first are missing"), "\(text)")
    let thumbnail = try run.thumbnail(cut, maxPixelSize: 60)
    let found = thumbnail.picture.color(x: 0.3...0.7, y: 0.3...0.7)
    #expect(Pictures.distance(found, [200, 80, 40]) <= 8)
    #expect(try run.failure(Array(bytes.prefix(60))).class == .permanent)
  }

  @Test("The reason of a refusal says something")
  func reason() throws {
    // A tag that no reader knows, of which libtiff complains before it gives up on the pixels.
    var bytes = try Pictures.file(try Pictures.picture(), ".tif[compression=deflate]")
    for index in 8..<600 { bytes[index] = 0xEE }
    let reason = try run.failure(bytes).reason
    #expect(!reason.contains("; .") && reason.hasPrefix("The TIFF can't be decoded: "), "\(reason)")
  }
}
