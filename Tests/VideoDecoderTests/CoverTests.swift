import Fixtures
import Foundation
import PictureDecoding
import PipelineModel
import Testing

@testable import VideoDecoder

@Suite(
  "Sound files and their covers", .enabled(if: Film.canBeMade, "ffmpeg is not installed"),
  .timeLimit(.minutes(2))
)
struct CoverTests {
  private static let tone = "-f lavfi -i sine=d=1"
  private static let attached = "-map 0 -map 1 -c:v copy -disposition:v attached_pic"

  /// A folder with a red and a blue cover.
  private func covers() throws -> (folder: Film, red: [UInt8], blue: [UInt8]) {
    let film = try Film("red.jpg", "-f lavfi -i color=red:s=64x64 -frames:v 1")
    try film.make(film.beside("blue.jpg"), "-f lavfi -i color=blue:s=64x64 -frames:v 1")
    let blue = try Data(contentsOf: URL(fileURLWithPath: film.beside("blue.jpg")))
    return (film, try film.bytes, Array(blue))
  }

  @Test(
    "A cover is handed out as it is in the file",
    arguments: [
      ("tone.mp3", "libmp3lame"), ("tone.m4a", "aac"), ("tone.flac", "flac"),
    ])
  func cover(name: String, codec: String) throws {
    let (_, red, _) = try covers()
    let sound = try Film(
      name, "\(Self.tone) -i @/red.jpg \(Self.attached) -c:a \(codec)", beside: ["red.jpg": red])
    let picture = try sound.decode(longest: 32)
    guard case .encoded(let bytes) = picture.content else {
      Issue.record("The cover was decoded")
      return
    }
    #expect(bytes == red)
    #expect(picture.isPreview)
    #expect(picture.orientation == nil)
    #expect(picture.damage == nil)
  }

  @Test("Of the variants of a cover in Matroska the main one is taken")
  func matroska() throws {
    let (_, red, blue) = try covers()
    let sound = try Film(
      "tone.mka",
      "\(Self.tone) -c:a flac -attach @/small_cover.jpg -attach @/cover.jpg "
        + "-metadata:s:t mimetype=image/jpeg",
      beside: ["small_cover.jpg": blue, "cover.jpg": red])
    guard case .encoded(let bytes) = try sound.decode().content else {
      Issue.record("The cover was decoded")
      return
    }
    #expect(bytes == red)
  }

  @Test("Of several covers the front is taken")
  func front() throws {
    let (_, red, blue) = try covers()
    let folder = try Film("none", "", beside: ["red.jpg": red, "blue.jpg": blue])
    // The comment's value has spaces, so it is read from a file.
    let tags = "-metadata:s:v:0 comment=Other -metadata:s:v:1 title=Front"
    try folder.make(
      folder.beside("tone.mp3"),
      "\(Self.tone) -i @/red.jpg -i @/blue.jpg -map 0 -map 1 -map 2 -c:v copy \(tags) "
        + "-c:a libmp3lame -id3v2_version 3")
    let path = folder.beside("tone.mp3")
    var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    // Kind of picture, behind the frame's text encoding and media type; 3 is the front cover.
    // Source: ID3v2.3.0 section 4.15.
    let second = try bytes.end(of: "APIC")
    let other = try Array(bytes[second...]).end(of: "APIC") + second
    let kind = try Array(bytes[other...]).end(of: "image/jpeg\0") + other
    bytes[kind] = 3
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let request = DecoderRequest(path: path, mediaType: "")
    guard
      case .encoded(let cover) = try VideoDecoder.decode(request, isCancelled: { false }).content
    else {
      Issue.record("The cover was decoded")
      return
    }
    #expect(cover == blue)
  }

  @Test(
    "Sound without a cover has nothing to show, which is no damage",
    arguments: [
      ("tone.mp3", "libmp3lame"), ("tone.wav", "pcm_s16le"), ("tone.m4a", "aac"),
      ("tone.ogg", "libvorbis"), ("tone.aac", "aac"),
    ])
  func noCover(name: String, codec: String) throws {
    let sound = try Film(name, "\(Self.tone) -c:a \(codec)")
    #expect(Film.code { () throws(DecoderError) in _ = try sound.decode() } == .absent)
    #expect(try sound.facts["audioCodec"] != nil)
  }

  @Test("A film with a cover shows a frame")
  func filmWithCover() throws {
    let (_, red, _) = try covers()
    let film = try Film(
      "film.mkv",
      "-f lavfi -i testsrc2=s=48x32:r=25:d=1 -attach @/red.jpg "
        + "-metadata:s:t mimetype=image/jpeg -c:v mpeg4 -disposition:v:0 0 -default_mode passthrough",
      beside: ["red.jpg": red])
    // The cover is larger, and the film not marked as preferred.
    let frame = try film.frame()
    #expect(frame.width == 48 && frame.height == 32)
    #expect(try film.facts["width"] == 48)
  }
}
