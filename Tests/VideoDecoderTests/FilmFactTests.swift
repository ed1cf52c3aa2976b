import Fixtures
import PictureDecoding
import PipelineModel
import Testing

@testable import VideoDecoder

@Suite(
  "Facts about films", .enabled(if: Film.canBeMade, "ffmpeg is not installed"),
  .timeLimit(.minutes(2))
)
struct FilmFactTests {
  private static let picture = "-f lavfi -i testsrc2=s=160x120:r=25:d=3"

  @Test(
    "Container, codec, size, length and rate are told",
    arguments: [
      ("film.mp4", "-c:v mpeg4", "mp4", "mpeg4"), ("film.mov", "-c:v mjpeg", "mov", "mjpeg"),
      ("film.mkv", "-c:v mpeg4", "matroska", "mpeg4"), ("film.avi", "-c:v mpeg4", "avi", "mpeg4"),
      ("film.ts", "-c:v mpeg2video", "mpegts", "mpeg2video"),
      ("film.mpg", "-c:v mpeg2video", "mpeg", "mpeg2video"),
      ("film.flv", "-c:v flv", "flv", "flv1"), ("film.wmv", "-c:v wmv2", "asf", "wmv2"),
      ("film.webm", "-c:v libvpx -deadline realtime", "webm", "vp8"),
    ])
  func basics(name: String, options: String, container: String, codec: String) throws {
    let facts = try Film(name, "\(Self.picture) \(options)").facts
    #expect(facts["container"] == .string(container))
    #expect(facts["videoCodec"] == .string(codec))
    #expect(facts["audioCodec"] == nil)
    #expect(facts["width"] == 160)
    #expect(facts["height"] == 120)
    #expect(facts["orientation"] == 1)
    #expect(abs(try #require(facts["duration"]?.double) - 3) <= 0.05)
    #expect(abs(try #require(facts["frameRate"]?.double) - 25) < 0.01)
    #expect(facts["hdr"] == nil)
    #expect(try #require(facts["decodeBytes"]?["streamed"]?.integer) > 1 << 20)
  }

  @Test("Sound of a film is named")
  func sound() throws {
    let film = try Film("film.mp4", "\(Self.picture) -f lavfi -i sine=d=3 -c:v mpeg4 -c:a aac")
    #expect(try film.facts["audioCodec"] == "aac")
    #expect(try film.facts["streams"] == 2)
  }

  @Test("Pixels that are not square widen the picture, in facts and frame")
  func pixelAspect() throws {
    let film = try Film("film.mp4", "\(Self.picture) -vf setsar=2 -c:v mpeg4")
    let facts = try film.facts
    #expect(facts["width"] == 320)
    #expect(facts["height"] == 120)
    let frame = try film.frame()
    #expect(frame.width == 320 && frame.height == 120)
    let small = try film.frame(longest: 80)
    #expect(small.width == 80 && small.height == 30)
  }

  @Test(
    "Every display matrix gives its EXIF orientation, and displayed sides",
    arguments: [
      (1, [1, 0, 0, 1], 0), (2, [-1, 0, 0, 1], 0), (3, [-1, 0, 0, -1], 180),
      (4, [1, 0, 0, -1], 180), (5, [0, 1, 1, 0], 270), (6, [0, 1, -1, 0], 90),
      (7, [0, -1, -1, 0], 90), (8, [0, -1, 1, 0], 270),
    ])
  func matrices(orientation: Int, matrix: [Int32], degrees: Int) throws {
    let film = try Film("film.mp4", "\(Self.picture) -c:v mpeg4")
    var bytes = try film.bytes
    // Behind version, flags, times, number, length, layer, group and volume.
    let start = try bytes.end(of: "tkhd") + 40
    for (index, place) in [0, 1, 3, 4].enumerated() {
      bytes.put((matrix[index] << 16).bigEndianBytes, at: start + place * 4)
    }
    try film.write(bytes)
    let facts = try film.facts
    let isTurned = orientation > 4
    #expect(facts["rotation"] == .integer(degrees))
    #expect(facts["width"] == .integer(isTurned ? 120 : 160))
    #expect(facts["height"] == .integer(isTurned ? 160 : 120))
    #expect(facts["orientation"] == 1)
    let picture = try film.decode()
    #expect(picture.orientation == orientation)
    let frame = try Frame(picture)
    #expect(frame.width == 160 && frame.height == 120)
    // Where the matrix puts two neighbours of the stored corner, against EXIF's own definition:
    // where its first row and first column are displayed.
    let (a, b, c, d) = (matrix[0], matrix[1], matrix[2], matrix[3])
    let shown = [
      1: "+x+y", 2: "-x+y", 3: "-x-y", 4: "+x-y", 5: "+y+x", 6: "+y-x", 7: "-y-x", 8: "-y+x",
    ]
    func side(_ x: Int32, _ y: Int32) -> String {
      "\(x + y > 0 ? "+" : "-")\(x == 0 ? "y" : "x")"
    }
    #expect(side(a, b) + side(c, d) == shown[orientation])
  }

  @Test("Title, time and place are read from tags, and malformed ones left out")
  func tags() throws {
    let film = try Film(
      "film.mp4",
      "\(Self.picture) -c:v mpeg4 -metadata title=Harbour -metadata artist=Nobody "
        + "-metadata creation_time=2020-05-06T07:08:09Z -metadata location=+51.4169-000.0806+012.5/"
    )
    let facts = try film.facts
    #expect(facts["title"] == "Harbour")
    #expect(facts["artist"] == "Nobody")
    #expect(facts["creationTime"] == "2020-05-06T07:08:09Z")
    #expect(facts["location"]?["latitude"]?.double == 51.4169)
    #expect(facts["location"]?["longitude"]?.double == -0.0806)
    let other = try Film("film.mp4", "\(Self.picture) -c:v mpeg4 -metadata location=nowhere/")
    #expect(try other.facts["location"] == nil)
    #expect(try other.facts["creationTime"] == nil)
  }

  @Test("Apple's date with its zone counts before the container's in UTC")
  func appleTags() throws {
    let film = try Film(
      "film.mov",
      "\(Self.picture) -c:v mpeg4 -movflags use_metadata_tags "
        + "-metadata creation_time=2020-05-06T07:08:09Z "
        + "-metadata com.apple.quicktime.creationdate=2021-02-03T04:05:06+0100 "
        + "-metadata com.apple.quicktime.make=Apple -metadata com.apple.quicktime.model=Phone "
        + "-metadata com.apple.quicktime.location.ISO6709=+5125.014-00004.836-003.5/")
    let facts = try film.facts
    #expect(facts["creationTime"] == "2021-02-03T04:05:06+01:00")
    #expect(facts["make"] == "Apple")
    #expect(facts["model"] == "Phone")
    #expect(facts["location"]?["latitude"]?.double == 51.4169)
    #expect(facts["location"]?["longitude"]?.double == -0.0806)
    #expect(facts["location"]?["altitude"]?.double == -3.5)
  }

  @Test(
    "Places that ISO 6709 does not allow are none",
    arguments: [
      "", "+91+000/", "+51-181/", "+511-0001/", "51.4-0.08/", "+51.4", "+51.4-000.1 x", "+٥١-٠٠٠/",
    ])
  func noPlaces(text: String) { #expect(ContainerTags.place(text) == nil) }

  @Test(
    "Times that are none are left out",
    arguments: [
      "", "2020", "2020-13-01T00:00:00Z", "2020-01-01T24:00:00Z", "yesterday",
      "2020-00-01T00:00:00Z", "2020-01-00T00:00:00Z", "2020-04-31T00:00:00Z",
      "2021-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2020-01-01T00:60:00Z",
      "2020-01-01T00:00:61Z", "2020-01-01T00:00:00+25:00", "2020-01-01T00:00:00+01:60",
      "2020-01-01T00:00:00+1:00", "2020-01-01T00:00:00+0:100", "2020-01-01T00000000Z",
      // Digits of Arabic and of full width.
      "٢٠٢٠-٠١-٠١T٠٠:٠٠:٠٠Z", "2020-01-01T00:00:0０Z", "2020-01-01T00:00:00.٥Z",
    ])
  func noTimes(text: String) { #expect(ContainerTags.time(text) == nil) }

  @Test(
    "Times are written in one way",
    arguments: [
      ("2020-02-29 23:59:60", "2020-02-29T23:59:60"),
      ("2000-02-29T00:00:00.500Z", "2000-02-29T00:00:00.5Z"),
      ("2021-12-31T00:00:00.000000-0330", "2021-12-31T00:00:00-03:30"),
      ("2021-12-31T00:00:00+14:00", "2021-12-31T00:00:00+14:00"),
    ])
  func times(text: String, time: String) { #expect(ContainerTags.time(text) == time) }

  @Test("Texts are cut to 1,000 bytes, between code points, however long their characters are")
  func longTexts() {
    #expect(ContainerTags.cut("a\u{7}b\n") == "ab")
    #expect(ContainerTags.cut(String(repeating: "a", count: 1001)).utf8.count == 1000)
    #expect(ContainerTags.cut(String(repeating: "€", count: 500)).utf8.count == 999)
    // One character of 100,001 code points.
    let tower = "e" + String(repeating: "\u{301}", count: 100_000)
    #expect(ContainerTags.cut(tower).utf8.count == 999)
  }

  @Test("Of a film that is not decoded, what its header tells is told")
  func undecoded() throws {
    let film = try Film("film.mov", "\(Self.picture) -c:v snow -strict -2")
    let facts = try film.facts
    #expect(facts["videoCodec"] == "snow")
    #expect(abs(try #require(facts["duration"]?.double) - 3) <= 0.05)
    #expect(facts["problem"]?.string?.contains("snow is not decoded") == true)
    #expect(Film.code { () throws(DecoderError) in _ = try film.decode() } == .undecodable)
    // A cover can be shown.
    let red = try Film("red.jpg", "-f lavfi -i color=red:s=64x64 -frames:v 1").bytes
    let covered = try Film(
      "film.mkv",
      "\(Self.picture) -c:v snow -strict -2 -attach @/cover.jpg -metadata:s:t mimetype=image/jpeg",
      beside: ["cover.jpg": red])
    #expect(try covered.facts["videoCodec"] == "snow" && covered.decode().isPreview)
  }

  @Test("A length that libav only guesses is none", arguments: ["mpeg1video", "mpeg2video"])
  func guessedLength(codec: String) throws {
    let film = try Film("film.m2v", "\(Self.picture) -c:v \(codec) -f \(codec)")
    let facts = try film.facts
    #expect(facts["duration"] == nil && facts["videoCodec"] == .string(codec))
    #expect(try film.frame().mean > 50)
  }

  @Test("Sound files tell their length and codec")
  func soundFile() throws {
    let sound = try Film(
      "tone.mp3", "-f lavfi -i sine=d=4 -c:a libmp3lame -metadata album=Tones")
    let facts = try sound.facts
    #expect(facts["audioCodec"] == "mp3")
    #expect(facts["container"] == "mp3")
    #expect(facts["album"] == "Tones")
    #expect(facts["width"] == nil)
    #expect(facts["videoCodec"] == nil)
    #expect(abs(try #require(facts["duration"]?.double) - 4) <= 0.1)
  }
}
