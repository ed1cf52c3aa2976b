import Fixtures
import Foundation
import PipelineModel
import Testing

/// Files of every kind, through the whole program.
@Suite("Kinds of files", .timeLimit(.minutes(10)))
struct KindTests {
  /// Whether a decoder was built.
  static func has(_ decoder: String) -> Bool {
    let folder = BuiltProgram.path.parent
    return FileManager.default.fileExists(
      atPath: folder.appending(BytePath("libpicture-decoder-\(decoder).so")).description)
  }

  /// Makes files by a program, which must succeed.
  private func make(_ words: [String], in folder: BytePath) throws {
    let process = Process()
    process.executableURL = URL(filePath: words[0])
    process.arguments = Array(words.dropFirst())
    process.currentDirectoryURL = URL(filePath: folder.description)
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "\(said)")
  }

  /// A file of the inbox, and what must become of it.
  private struct Expected {
    let name: String
    /// Width and height; `nil` if there is no picture.
    let size: (width: Int, height: Int)?
    let type: String?
  }

  /// Puts what libvips reads into the inbox.
  private func putPictures(_ workspace: Workspace) throws -> [Expected] {
    var expected: [Expected] = []
    for (index, kind) in try Pictures.kinds().enumerated() {
      let name = "kind-\(index)"
      try workspace.put(kind.bytes, as: BytePath(name))
      expected.append(Expected(name: name, size: (160, 120), type: kind.mediaType))
    }
    for (suffix, type) in [
      (".jpg", "image/jpeg"), (".png", "image/png"), (".webp", "image/webp"),
      (".gif", "image/gif"), (".tif", "image/tiff"), (".heic", "image/heic"),
      (".heic[compression=av1]", "image/avif"),
    ] {
      let name = "usual-\(expected.count)"
      let picture = try Pictures.picture(width: 160, height: 120)
      try workspace.put(try Pictures.file(picture, suffix), as: BytePath(name))
      expected.append(Expected(name: name, size: (160, 120), type: type))
    }
    return expected
  }

  /// Puts what MagickCore reads into the inbox.
  private func putOld(_ workspace: Workspace) throws -> [Expected] {
    let script = """
      from PIL import Image
      picture = Image.new("RGB", (64, 48), (200, 40, 40))
      for kind in ("bmp", "tga", "pcx"): picture.save("old." + kind)
      Image.new("RGB", (64, 64), (200, 40, 40)).save("old.ico", sizes=[(64, 64)])
      """
    try make(["/usr/bin/python3", "-c", script], in: workspace.inbox)
    // Pillow does not write them: a header, no colours, resources or layers, then planes.
    let header: [UInt8] = [0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 48, 0, 0, 0, 64, 0, 8, 0, 3]
    let planes = [200, 40, 40].flatMap { [UInt8](repeating: $0, count: 64 * 48) }
    try workspace.put(
      Array("8BPS".utf8) + header + [UInt8](repeating: 0, count: 14) + planes, as: "old.psd")
    return [
      Expected(name: "old.bmp", size: (64, 48), type: "image/bmp"),
      Expected(name: "old.tga", size: (64, 48), type: "image/x-tga"),
      Expected(name: "old.pcx", size: (64, 48), type: nil),
      Expected(name: "old.ico", size: (64, 64), type: nil),
      Expected(name: "old.psd", size: (64, 48), type: "image/vnd.adobe.photoshop"),
    ]
  }

  /// Puts a film, and sound without a cover, into the inbox.
  private func putFilms(_ workspace: Workspace) throws -> [Expected] {
    let make = ["/usr/bin/env", "ffmpeg", "-nostdin", "-loglevel", "error", "-threads", "1"]
    try self.make(
      make + "-f lavfi -i testsrc=size=160x120:rate=5:duration=2 -pix_fmt yuv420p".words
        + ["film.mp4"], in: workspace.inbox)
    for name in ["sound.flac", "sound.mp3"] {
      try self.make(
        make + "-f lavfi -i sine=frequency=440:duration=1".words + [name], in: workspace.inbox)
    }
    return [
      Expected(name: "film.mp4", size: (160, 120), type: "video/mp4"),
      Expected(name: "sound.flac", size: nil, type: "audio/flac"),
      Expected(name: "sound.mp3", size: nil, type: "audio/mpeg"),
    ]
  }

  @Test("One run over a file of every kind makes each picture, and says what it skips")
  func everyKind() throws {
    let workspace = try Workspace()
    var expected = try putPictures(workspace)
    if Self.has("magick") { expected += try putOld(workspace) }
    if Self.has("video") { expected += try putFilms(workspace) }
    if Self.has("raw") {
      try workspace.put(RawSample().bytes, as: "raw.dng")
      expected.append(Expected(name: "raw.dng", size: (320, 240), type: "image/x-adobe-dng"))
    }
    let unknown = [
      ("letter.txt", "Nothing but words.\n"), ("page.eps", "%!PS-Adobe-3.0 EPSF-3.0\nshowpage\n"),
      ("page.html", "<!DOCTYPE html>\n<html><body><svg/></body></html>\n"),
    ]
    for (name, text) in unknown {
      try workspace.put(text, as: BytePath(name))
      expected.append(Expected(name: name, size: nil, type: nil))
    }

    let outcome = try workspace.run("run", "--json", within: 300)
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let events = try outcome.events()
    #expect(events.summary["imported"]?.integer == expected.count)
    #expect(events.summary["jobsFailed"] == 0)
    let assets = try workspace.assets()
    for file in expected {
      let asset = try #require(assets.first { $0["name"]?.string == file.name }, "\(file.name)")
      if let type = file.type { #expect(asset["mediaType"]?.string == type, "\(file.name)") }
      guard let size = file.size else {
        #expect(asset["renditions"] == [], "\(file.name)")
        let job = try #require(
          events.of("job").first {
            $0["asset"] == asset["id"] && $0["stage"] == "thumbnails"
          }, "\(file.name)")
        #expect(job["outcome"] == "skipped", "\(file.name)")
        #expect(job["reason"]?.string?.hasSuffix(".") == true, "\(file.name)")
        continue
      }
      #expect(asset["state"] == "done", "\(file.name)")
      let made = asset["renditions"]?.array ?? []
      #expect(!made.contains { $0["from"] == "damaged" }, "\(file.name): \(made)")
      #expect(
        asset["width"]?.integer == size.width && asset["height"]?.integer == size.height,
        "\(file.name)")
      for (name, side) in [("grid", 64), ("preview", 128)] {
        let reading = try workspace.rendition(name, of: asset)
        #expect(max(reading.width, reading.height) == min(side, size.width), "\(file.name)")
        #expect(
          (reading.width > reading.height) == (size.width > size.height), "\(file.name)")
      }
    }
    try workspace.expectSound()
  }
}

extension String {
  /// The words of a command line without quotes.
  fileprivate var words: [String] { split(separator: " ").map(String.init) }
}
