import CLibAV
import Fixtures
import Foundation
import PictureDecoding
import PipelineModel
import Testing

@testable import VideoDecoder

@Suite(
  "Damaged and hostile films", .enabled(if: Film.canBeMade, "ffmpeg is not installed"),
  .timeLimit(.minutes(2))
)
struct HostileFilmTests {
  private static let picture = "-f lavfi -i testsrc2=s=160x120:r=25:d=4"
  private static let h264 = "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 25"

  @Test(
    "A film that is cut shows a frame that is there, and says so",
    arguments: [
      ("film.mp4", "-movflags +faststart", 0.6), ("film.mp4", "-movflags +faststart", 0.9),
      ("film.mkv", "", 0.5), ("film.avi", "", 0.5),
    ])
  func cut(name: String, options: String, part: Double) throws {
    let film = try Film(name, "\(Self.picture) \(Self.h264) \(options)")
    #expect(try film.decode().damage == nil)
    let whole = try film.facts["duration"]
    try film.cut(to: part)
    let picture = try film.decode()
    #expect(picture.damage == "it ends too early")
    #expect(try Frame(picture).mean > 50)
    if name != "film.avi" { #expect(try film.facts["duration"] == whole) }
  }

  @Test("A film without its index can't be decoded")
  func noIndex() throws {
    let film = try Film("film.mp4", "\(Self.picture) \(Self.h264)")
    try film.cut(to: 0.5)
    #expect(Film.code { () throws(DecoderError) in _ = try film.decode() } == .undecodable)
    #expect(Film.code { () throws(DecoderError) in _ = try film.facts } == .undecodable)
  }

  // VP8, VP9, AV1 and Theora have no redundancy: their decoders make a picture of whatever bytes come,
  // and can't tell. Nor can that of HEVC, but for values that are out of range and for checksums,
  // which few encoders write. Of ProRes and MJPEG only codes that no encoder writes are told.
  @Test(
    "A frame that is only partly there is not taken for whole",
    arguments: [
      "libx264 -preset ultrafast -pix_fmt yuv420p", "mpeg4", "mpeg2video", "wmv2", "mjpeg",
      "ffv1 -level 3 -slicecrc 1", "png", "prores",
    ], [nil, 80])
  func damagedFrame(codec: String, longest: Int?) throws {
    let film = try Film(
      "film.mkv", "\(Self.picture) -vf scale=320:240 -c:v \(codec) -frames:v 1")
    #expect(try film.decode(longest: longest).damage == nil)
    try damageEnd(of: film)
    do throws(DecoderError) {
      #expect(
        try film.decode(longest: longest).damage == "parts of the frame can't be decoded")
    } catch {
      #expect(error.code == .undecodable)
    }
  }

  @Test("A frame of HEVC is held against its checksum, unless its blocks are not smoothed")
  func checksum() throws {
    let film = try Film(
      "film.mkv",
      "\(Self.picture) -vf scale=320:240 -c:v libx265 -preset ultrafast -pix_fmt yuv420p "
        + "-x265-params log-level=none:hash=1 -frames:v 1")
    #expect(try film.decode().damage == nil)
    #expect(try film.decode(longest: 80).damage == nil)
    // Not the checksum itself, which comes behind the frame.
    try damageEnd(of: film, except: 100)
    #expect(try film.decode().damage == "parts of the frame can't be decoded")
  }

  /// Overwrites the end of a film's one frame, which comes before the index of Matroska.
  private func damageEnd(of film: Film, except rest: Int = 0) throws {
    var bytes = try film.bytes
    let end = try bytes.lastStart(of: [0x1C, 0x53, 0xBB, 0x6B]) - rest
    for index in (end - 1500)..<end { bytes[index] = 0xA5 }
    try film.write(bytes)
  }

  @Test("Playlists and scripts can't name other files")
  func playlists() throws {
    let film = try Film("film.ts", "\(Self.picture) \(Self.h264)")
    let texts = [
      "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n\(film.path)\n#EXT-X-ENDLIST\n",
      "ffconcat version 1.0\nfile '\(film.path)'\nduration 4\n",
      "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 33\n",
    ]
    for text in texts {
      let list = try Film("list", "", beside: ["list": Array(text.utf8)])
      #expect(Film.code { () throws(DecoderError) in _ = try list.facts } == .undecodable)
      #expect(Film.code { () throws(DecoderError) in _ = try list.decode() } == .undecodable)
    }
  }

  @Test("A DASH manifest does not read the segments beside it, which libav would")
  func manifest() throws {
    let list = try Film("list.mpd", "\(Self.picture) \(Self.h264) -f dash")
    let text = String(decoding: try list.bytes, as: UTF8.self)
    let base = "<BaseURL>file:\(list.beside("."))/</BaseURL><Period"
    try list.write(Array(text.replacing("<Period", with: base).utf8))
    #expect(Film.code { () throws(DecoderError) in _ = try list.facts } == .undecodable)
    #expect(Film.code { () throws(DecoderError) in _ = try list.decode() } == .undecodable)
  }

  @Test("No demuxer is allowed that opens what a file names")
  func noNamers() {
    let allowed = AllowedFormats.demuxers.split(separator: ",")
    for name in ["hls", "dash", "concat", "sdp", "image2", "imf", "webm_dash_manifest"] {
      #expect(!allowed.contains(Substring(name)))
    }
  }

  @Test(
    "A demuxer that opens what a file names gets nothing, because no protocol is allowed",
    arguments: ["none", "file,crypto,data"])
  func protocols(allowed: String) throws {
    let film = try Film("list.mpd", "\(Self.picture) \(Self.h264) -f dash")
    // With the full path, because libav does not know the folder.
    let text = String(decoding: try film.bytes, as: UTF8.self)
    let base = "<BaseURL>file:\(film.beside("."))/</BaseURL><Period"
    try film.write(Array(text.replacing("<Period", with: base).utf8))
    let code = Film.code { () throws(DecoderError) in
      let input = try MediaInput(path: film.path) { false }
      try input.openContainer(
        demuxers: "dash,\(AllowedFormats.demuxers)", protocols: allowed)
      try input.examineStreams()
      if input.streams.isEmpty { throw DecoderError(.undecodable, "Nothing was opened") }
    }
    // libav's demuxer of DASH does not ask `io_open`, so it shows what the protocols do.
    #expect(code == (allowed == "none" ? .undecodable : nil))
  }

  @Test("What a container names is not opened, even if the protocol is allowed")
  func namedFiles() throws {
    let film = try Film("film.mp4", "\(Self.picture) \(Self.h264)")
    let input = try MediaInput(path: film.path) { false }
    try input.openContainer(protocols: "file")
    let container = try #require(input.container)
    let open = try #require(container.pointee.io_open)
    var target: UnsafeMutablePointer<AVIOContext>?
    #expect(open(container, &target, film.path, AVIO_FLAG_READ, nil) < 0)
    #expect(target == nil)
  }

  @Test("A read error is told although there is a result")
  func readError() throws {
    let film = try Film("film.mp4", "\(Self.picture) \(Self.h264)")
    let request = DecoderRequest(path: film.path, mediaType: "")
    let code = Film.code { () throws(DecoderError) in
      _ = try VideoDecoder.withInput(request, { false }) { input in
        // The kernel refuses an offset below zero.
        input.bytes(at: -1, count: 8)
      }
    }
    #expect(code == .inputOutput)
  }

  @Test("A film whose pixels are so wide that the picture is too large is refused for good")
  func hugeAspect() throws {
    let film = try Film(
      "film.mov", "-f lavfi -i color=gray:s=8192x1200:r=1:d=1 -vf setsar=10 -c:v mjpeg -frames:v 1")
    #expect(Film.code { () throws(DecoderError) in _ = try film.decode() } == .tooLarge)
    #expect(try film.frame(longest: 512).width == 512)
  }

  @Test("Pictures and texts are not films")
  func otherKinds() throws {
    let picture = try Film("picture.png", "\(Self.picture) -frames:v 1")
    #expect(Film.code { () throws(DecoderError) in _ = try picture.decode() } == .undecodable)
    for bytes in [[], Array("Hello".utf8), [UInt8](repeating: 0, count: 10_000)] {
      try picture.write(bytes)
      #expect(Film.code { () throws(DecoderError) in _ = try picture.decode() } == .undecodable)
      #expect(Film.code { () throws(DecoderError) in _ = try picture.facts } == .undecodable)
    }
  }

  @Test("A file that is not there is the kernel's failure")
  func missing() {
    let request = DecoderRequest(path: "/nonexistent/film.mp4", mediaType: "")
    #expect(
      Film.code { () throws(DecoderError) in
        _ = try VideoDecoder.decode(request) { false }
      } == .inputOutput)
  }

  @Test("A film that claims to be huge is refused before it is decoded")
  func hugeContainer() throws {
    let film = try Film("film.mov", "\(Self.picture) \(Self.h264)")
    var bytes = try film.bytes
    // Width and height of a sample entry; source: ISO/IEC 14496-12, VisualSampleEntry.
    bytes.put([0xFF, 0xFF, 0xFF, 0xFF], at: try bytes.end(of: "avc1") + 24)
    try film.write(bytes)
    #expect(Film.code { () throws(DecoderError) in _ = try film.decode() } == .tooLarge)
  }

  @Test("A frame that is larger than its container says is not decoded beyond the limit")
  func hugeFrame() throws {
    let film = try Film(
      "film.mov", "-f lavfi -i color=gray:s=9000x8000:r=1:d=1 -pix_fmt gray -c:v png -frames:v 1")
    var bytes = try film.bytes
    // The sample entry comes behind the frame, which starts with the same letters in capitals.
    bytes.put([0, 100, 0, 100], at: try bytes.end(of: "png ") + 24)
    try film.write(bytes)
    #expect(Film.code { () throws(DecoderError) in _ = try film.decode() } == .undecodable)
  }

  @Test("Many streams are read, and more than the limit refused")
  func manyStreams() throws {
    let film = try Film(
      "film.mkv",
      "-f lavfi -i testsrc2=s=64x48:r=5:d=1 -c:v mpeg4 "
        + String(repeating: "-map 0 ", count: 40))
    #expect(try film.facts["streams"] == 40)
    #expect(try film.frame().width == 64)
    let bomb = try Film(
      "film.mp4",
      "-f lavfi -i anullsrc=r=8000:cl=mono -t 0.1 -c:a pcm_s16le -f mov "
        + String(repeating: "-map 0 ", count: 300))
    #expect(Film.code { () throws(DecoderError) in _ = try bomb.facts } == .undecodable)
  }
}
