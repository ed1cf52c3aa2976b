import Fixtures
import Foundation
import PictureDecoding
import PipelineModel
import PipelinePlugin
import PluginHost
import Testing
import Vips

@Suite(
  "Thumbnails: films that move, and sprite sheets",
  .enabled(if: Film.canBeMade, "ffmpeg is not installed"),
  .enabled(if: !DecoderTable.absent.contains("video"), "the decoder of films is left out"),
  .timeLimit(.minutes(3))
)
struct ThumbnailFilmTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  @Test("An AVIF that has only a film shows a frame of it, and moves")
  func sequence() throws {
    let film = try Film(
      "film.avif",
      "-f lavfi -i testsrc2=size=64x48:rate=10:duration=0.8 -c:v libaom-av1 -cpu-used 8 -f avif")
    var bytes = try film.bytes
    try #require(bytes[8..<12].elementsEqual("avis".utf8))
    // Without the brands that promise a picture.
    for at in stride(from: 16, to: Int(bytes[3]), by: 4)
    where ["avif", "mif1"].contains(where: { bytes[at..<(at + 4)].elementsEqual($0.utf8) }) {
      bytes.replaceSubrange(at..<(at + 4), with: "msf1".utf8)
    }
    let facts = try PluginRun("identify").facts(bytes)
    #expect(facts["mediaType"] == "image/avif-sequence" && facts["width"] == 64)
    #expect(facts["videoCodec"] == "av1" && facts["frameRate"] == 10)
    let made = try run.thumbnails(
      bytes,
      options: [
        "sizes": [
          ["name": "still", "maxPixelSize": 32],
          ["name": "moving", "maxPixelSize": 32, "animated": true],
          ["name": "sheet", "maxPixelSize": 32, "sprites": 2],
        ]
      ], type: "image/avif-sequence")
    #expect(made["still"]?.picture.width == 32 && made["still"]?.picture.height == 24)
    #expect(made["moving"]?.rendition.mediaType == "image/webp" && made["sheet"] != nil)
  }

  /// Red, green, blue and white for a while each, and turned on request.
  private static func film(_ seconds: Int = 2, turned: Bool = false) throws -> Film {
    let colors = ["red", "lime", "blue", "white"]
    let inputs = colors.map { "-f lavfi -i color=\($0):s=160x120:r=10:d=\(seconds)" }
    let film = try Film(
      "film.mp4",
      inputs.joined(separator: " ") + " -filter_complex concat=n=4 -c:v libx264 -preset ultrafast "
        + "-pix_fmt yuv420p -g 5 -video_track_timescale 1000")
    guard turned else { return film }
    var bytes = try film.bytes
    let name = Array("tkhd".utf8)
    let start = try #require(bytes.indices.first { bytes[$0...].starts(with: name) }) + 4 + 40
    // A quarter to the right: the matrix is 0, 1, 0, -1, 0, 0 in 16.16; source: ISO/IEC 14496-12.
    let matrix =
      Pictures.big(0, 4) + Pictures.big(1 << 16, 4) + Pictures.big(0, 4)
      + [0xFF, 0xFF, 0, 0] + Pictures.big(0, 4)
    bytes.replaceSubrange(start..<(start + matrix.count), with: matrix)
    try film.write(bytes)
    return film
  }

  private let sizes: JSONValue = [
    ["name": "moving", "maxPixelSize": 80, "animated": true],
    ["name": "sheet", "maxPixelSize": 40, "sprites": 8],
    ["name": "still", "maxPixelSize": 100],
  ]

  private func made(
    _ film: Film, _ options: [String: JSONValue] = [:]
  ) throws -> (facts: JSONValue, renditions: [String: PluginRendition]) {
    let options = JSONValue.object(["sizes": sizes].merging(options) { $1 })
    let result = try run.process(path: film.path, options: options, type: "video/mp4")
    guard case .done(let facts, let renditions) = result else {
      throw Unexpected("the job is not done but \(result)")
    }
    #expect(try run.outputNames == renditions.map(\.path).sorted())
    return (facts, Dictionary(uniqueKeysWithValues: renditions.map { ($0.name, $0) }))
  }

  private func bytes(_ rendition: PluginRendition?) throws -> [UInt8] {
    let path = try #require(rendition?.path)
    return Array(try Data(contentsOf: run.output.appending(path: path)))
  }

  /// All frames of an animation, one below the other.
  private func frames(of rendition: PluginRendition?) throws -> (Picture, count: Int) {
    let source = try PictureSource(bytes: bytes(rendition))
    let count = try Picture.load(source, as: source.loader()).pages
    return (try Picture.loadFrames(source, as: source.loader(), count: count).rendered(), count)
  }

  /// The colour at a place, with 0 or 255 for each of red, green and blue.
  private func color(_ picture: Picture, _ x: Int, _ y: Int) throws -> [Int] {
    try picture.cropped(x: x, y: y, width: 1, height: 1).rendered().pixelBytes().prefix(3)
      .map { $0 < 128 ? 0 : 255 }
  }

  private static let shown = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]

  @Test(
    "A film gives an animation of three seconds that passes through it", arguments: [false, true])
  func moving(turned: Bool) throws {
    let rendition = try made(Self.film(turned: turned)).renditions["moving"]
    #expect(rendition?.mediaType == "image/webp" && rendition?.from == "image")
    #expect(rendition?.width == (turned ? 60 : 80) && rendition?.height == (turned ? 80 : 60))
    let (frames, count) = try frames(of: rendition)
    let height = turned ? 80 : 60
    #expect(frames.width == (turned ? 60 : 80) && frames.height == count * height)
    // The encoder joins frames that look the same.
    #expect(frames.integers("delay").reduce(0, +) == 3000)
    var seen: [[Int]] = []
    for index in 0..<count {
      let color = try color(frames, 30, index * height + height / 2)
      if seen.last != color { seen.append(color) }
    }
    #expect(seen == Self.shown)
  }

  @Test("A film of less than three seconds plays in its own time")
  func short() throws {
    let film = try Film(
      "film.mp4", "-f lavfi -i testsrc2=s=160x120:r=30:d=1.2 -c:v libx264 -pix_fmt yuv420p")
    let (frames, count) = try frames(of: try made(film).renditions["moving"])
    #expect(count == 12)
    #expect(frames.integers("delay").reduce(0, +) == 1200)
  }

  @Test(
    "A sheet has the frames in rows, and facts by which they are found", arguments: [false, true])
  func sheet(turned: Bool) throws {
    let made = try made(Self.film(turned: turned))
    let rendition = try #require(made.renditions["sheet"])
    let (width, height) = turned ? (30, 40) : (40, 30)
    #expect(rendition.mediaType == "image/jpeg" && rendition.from == "sprites")
    #expect(rendition.width == 3 * width && rendition.height == 3 * height)
    let facts = try #require(made.facts["sprites"]?["sheet"])
    #expect(facts["columns"] == 3 && facts["rows"] == 3 && facts["count"] == 8)
    #expect(facts["width"] == .integer(width) && facts["height"] == .integer(height))
    let interval = try #require(facts["interval"]?.double)
    #expect(abs(interval - 1) < 0.02)
    let source = try PictureSource(bytes: bytes(rendition))
    let picture = try Picture.load(source, as: source.loader()).rendered()
    for (index, time) in (facts["times"]?.array ?? []).enumerated() {
      let seconds = try #require(time.double)
      #expect(seconds >= 0 && abs(seconds - (Double(index) + 0.5)) <= 0.51)
      // As a player does: the frame for a time in its part.
      let number = Int((seconds / interval).rounded(.down))
      let x = number % 3 * width + width / 2
      let y = number / 3 * height + height / 2
      #expect(try color(picture, x, y) == Self.shown[Int(seconds / 2)], "\(index)")
    }
    #expect(facts["times"]?.array?.count == 8)
    #expect(try color(picture, 2 * width + width / 2, 2 * height + height / 2) == [0, 0, 0])
  }

  @Test("A size has its own format, and what is damaged is told by the pictures")
  func formats() throws {
    let sizes: JSONValue = [
      ["name": "sheet", "maxPixelSize": 40, "sprites": 4, "format": "webp"],
      ["name": "still", "maxPixelSize": 100],
    ]
    let film = try Self.film()
    #expect(
      try made(film, ["sizes": sizes]).renditions["sheet"]?.mediaType == "image/webp")
    let cut = try Film(
      "film.mp4",
      "-f lavfi -i testsrc2=s=160x120:r=10:d=8 -c:v libx264 -pix_fmt yuv420p -g 5 "
        + "-movflags +faststart")
    try cut.cut(to: 0.6)
    let made = try made(cut)
    #expect(made.renditions["still"]?.from == "damaged")
    #expect(made.renditions["sheet"]?.from == "sprites")
  }

  @Test("A picture has no sheet, and with sheets only it is skipped")
  func stills() throws {
    let picture = try Pictures.jpeg()
    let thumbnails = try run.thumbnails(picture, options: ["sizes": sizes])
    #expect(thumbnails.keys.sorted() == ["moving", "still"])
    let only: JSONValue = ["sizes": [["name": "sheet", "maxPixelSize": 40, "sprites": 8]]]
    guard case .skipped(let reason) = try run.process(picture, options: only) else {
      throw Unexpected("the job is not skipped")
    }
    run.expectSentence(reason)
    #expect(reason.contains("only sizes for films"))
    let made = try made(Self.film(), try #require(only.object))
    #expect(made.renditions.keys.sorted() == ["sheet"])
  }

  @Test("A sheet that is wanted alone is made with its facts alone")
  func wanted() throws {
    let film = try Self.film()
    let all = try made(film)
    let result = try run.process(
      path: film.path, options: ["sizes": sizes], type: "video/mp4", wanted: ["sheet"])
    guard case .done(let facts, let renditions) = result else { throw Unexpected("\(result)") }
    #expect(renditions == [all.renditions["sheet"]].compactMap(\.self))
    #expect(facts == .object(["sprites": all.facts["sprites"]].compactMapValues(\.self)))
    let picture = try run.process(try Pictures.jpeg(), options: ["sizes": sizes], wanted: ["sheet"])
    guard case .skipped = picture else { throw Unexpected("the job is not skipped") }
  }

  @Test("An animation is recorded with the size that it has, not with that of the still")
  func animationSize() throws {
    // A quarter of 90 rows is 23, while 40 % of the 56 rows of the still are 22.
    let film = try Film(
      "film.mp4", "-f lavfi -i testsrc2=s=160x90:r=10:d=4 -c:v libx264 -pix_fmt yuv420p -g 5")
    let sizes: JSONValue = [
      ["name": "moving", "maxPixelSize": 40, "animated": true],
      ["name": "still", "maxPixelSize": 100],
    ]
    let rendition = try made(film, ["sizes": sizes]).renditions["moving"]
    let (frames, count) = try frames(of: rendition)
    #expect(frames.width == 40 && frames.height == count * 23)
    #expect(rendition?.width == 40 && rendition?.height == 23)
  }

  @Test("A part of the picture neither moves nor has a sheet")
  func region() throws {
    let made = try made(Self.film(), ["region": [0, 0, 80, 60]])
    #expect(made.renditions.keys.sorted() == ["moving", "still"])
    #expect(made.renditions["moving"]?.mediaType == "image/jpeg")
    #expect(made.facts["sprites"] == nil)
  }

  @Test(
    "Sheets that are too large, or move, are refused",
    arguments: [
      (#""maxPixelSize":9,"sprites":1"#, "sprites is 1"),
      (#""maxPixelSize":9,"sprites":101"#, "sprites is 101"),
      (#""maxPixelSize":401,"sprites":100"#, "16 million pixels"),
      (#""maxPixelSize":9,"sprites":9,"animated":true"#, "both animated and a sprite sheet"),
    ])
  func refused(size: String, words: String) throws {
    let options = try JSONText.decode(
      JSONValue.self, from: #"{"sizes":[{"name":"a",\#(size)}]}"#)
    let backend = run.backend
    let failure = try #require(throws: PluginFailure.self) {
      try backend.makeInstance(options: options)
    }
    #expect(failure.reason.contains(words), "\(failure.reason)")
  }

  @Test("What moves and what is on a sheet needs memory, if the file is a film")
  func estimate() throws {
    let film = try Self.film()
    let identify = try PluginRun("identify")
    func estimate(_ bytes: [UInt8], _ more: [String: JSONValue]) throws -> Int {
      let size: JSONValue = .object(["name": "a", "maxPixelSize": 100].merging(more) { $1 })
      return try #require(
        try run.backend.makeInstance(options: ["sizes": [size]])
          .estimate(facts: ["identify": try identify.facts(bytes)]))
    }
    let bytes = try film.bytes
    #expect(
      try estimate(bytes, ["sprites": 25]) - estimate(bytes, [:]) == 25 * 100 * 100 * 3 * 6)
    #expect(
      try estimate(bytes, ["animated": true]) - estimate(bytes, [:])
        == 12 * 100 * 100 * (4 * 3 + 3 * 3))
    let picture = try Pictures.jpeg()
    #expect(try estimate(picture, ["sprites": 25]) == estimate(picture, [:]))
  }
}
