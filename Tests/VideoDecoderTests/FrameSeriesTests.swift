import Fixtures
import Foundation
import PictureDecoding
import PipelineModel
import Testing

@testable import VideoDecoder

@Suite(
  "Frames over a film", .enabled(if: Film.canBeMade, "ffmpeg is not installed"),
  .timeLimit(.minutes(2))
)
struct FrameSeriesTests {
  /// Grey that becomes brighter by a step with each frame.
  private static func brightening(seconds: Int, rate: Int = 25) -> String {
    "-f lavfi -i nullsrc=s=64x48:r=\(rate):d=\(seconds) -vf geq=lum=16+mod(N\\,220):cb=128:cr=128"
  }
  private static let h264 = "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -sc_threshold 0"

  private func frames(
    _ film: Film, _ count: Int, longest: Int? = nil, isCancelled: () -> Bool = { false }
  ) throws(DecoderError) -> DecodedFrames {
    try VideoDecoder.frames(
      DecoderRequest(path: film.path, mediaType: "", longest: longest), count: count,
      isCancelled: isCancelled)
  }

  private func code(_ film: Film, _ count: Int, longest: Int? = nil) -> DecoderError.Code? {
    Film.code { () throws(DecoderError) in _ = try frames(film, count, longest: longest) }
  }

  /// The number of the frame that each shown one is, by its brightness.
  private func numbers(_ frames: DecodedFrames) -> [Int] {
    let length = frames.width * frames.height * 3
    #expect(frames.pixels.count == frames.times.count * length)
    return frames.times.indices.map { index in
      let middle = index * length + (frames.height / 2 * frames.width + frames.width / 2) * 3
      // RGB from 0 to 255 is made of brightness from 16 to 235.
      return Int((Double(frames.pixels[middle]) * 219 / 255).rounded())
    }
  }

  @Test(
    "Each part of a film is shown by the key frame before its middle, or the frame there",
    arguments: [
      ("film.mp4", "-g 5", 0.25), ("film.mp4", "-g 600", 0.05), ("film.mkv", "-g 600", 0.05),
      ("film.mkv", "-g 25", 1.05), ("film.ts", "-g 5", 0.5),
    ])
  func distances(name: String, options: String, lag: Double) throws {
    let film = try Film(name, "\(Self.brightening(seconds: 8)) \(Self.h264) \(options)")
    let found = try frames(film, 4)
    #expect(abs(found.duration - 8) < 0.1)
    #expect(found.times.count == 4)
    for (time, middle) in zip(found.times, [1.0, 3, 5, 7]) {
      #expect(time <= middle + 0.05 && time > middle - lag, "\(time)")
    }
    // What the times say is what is seen.
    for (time, number) in zip(found.times, numbers(found)) {
      #expect(abs(Int((time * 25).rounded()) - number) <= 2, "\(time) \(number)")
    }
    #expect(try frames(film, 4).pixels == found.pixels)
  }

  @Test(
    "Times are those of a player, also if the film begins after its sound",
    arguments: ["film.mp4", "film.mkv"])
  func lateFilm(name: String) throws {
    let late = try Film("late.mp4", "\(Self.brightening(seconds: 6)) \(Self.h264) -g 5")
    try late.make(
      late.beside(name),
      "-f lavfi -i sine=d=8 -itsoffset 2 -i @/late.mp4 -map 0 -map 1 -c:v copy -c:a flac -strict -2"
    )
    let film = try Film(name, "")
    try film.write(Array(Data(contentsOf: URL(fileURLWithPath: late.beside(name)))))
    let found = try frames(film, 8)
    #expect(abs(found.duration - 8) < 0.1)
    // The first one stands for the seconds before the film, too.
    let wanted = [2.0, 2, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]
    for (index, time) in found.times.enumerated() {
      #expect(time <= wanted[index] + 0.1 && time > wanted[index] - 0.3, "\(found.times)")
      let number = Int(((time - 2) * 25).rounded())
      #expect(abs(number - numbers(found)[index]) <= 2, "\(found.times) \(numbers(found))")
    }
  }

  @Test("A long film with one key frame is not decoded in a row")
  func sparse() throws {
    let seconds = MediaLimits.framesInSeries / 25 + 10
    let film = try Film("film.mp4", "\(Self.brightening(seconds: seconds)) \(Self.h264) -g 9999")
    let found = try frames(film, 5)
    #expect(found.times == [0, 0, 0, 0, 0])
    #expect(Set(numbers(found)).count == 1)
  }

  @Test("A film of one frame is shown by it throughout")
  func single() throws {
    let film = try Film("film.mp4", "\(Self.brightening(seconds: 1)) \(Self.h264) -frames:v 1")
    #expect(try frames(film, 3).times == [0, 0, 0])
  }

  @Test("Frames have square pixels, are as small as needed, and tell how they are to be turned")
  func shape() throws {
    let wide = try Film(
      "film.mp4", "-f lavfi -i testsrc2=s=80x60:r=25:d=2 -vf setsar=2 \(Self.h264)")
    let found = try frames(wide, 3, longest: 40)
    #expect(found.width == 40 && found.height == 15)
    #expect(found.orientation == 1)
    var bytes = try wide.bytes
    // A quarter to the right; behind version, flags, times, number, length, layer, group and volume.
    let start = try bytes.end(of: "tkhd") + 40
    for (index, place) in [0, 1, 3, 4].enumerated() {
      bytes.put((Int32([0, 1, -1, 0][index]) << 16).bigEndianBytes, at: start + place * 4)
    }
    try wide.write(bytes)
    #expect(try frames(wide, 3, longest: 40).orientation == 6)
  }

  @Test("Of a film that is cut, what is there is shown", arguments: ["-g 5", "-g 600"])
  func cut(options: String) throws {
    let film = try Film(
      "film.mp4",
      "-f lavfi -i testsrc2=s=160x120:r=25:d=8 \(Self.h264) \(options) -movflags +faststart")
    try film.cut(to: 0.55)
    let found = try frames(film, 8)
    #expect(Set(found.times).count >= 3)
    #expect(found.times == found.times.sorted() && found.times.allSatisfy { $0 < 6 })
  }

  @Test("Sound, pictures, and films of unknown length have no frames to be divided")
  func absent() throws {
    let sound = try Film("tone.m4a", "-f lavfi -i sine=d=1 -c:a aac")
    #expect(code(sound, 4) == .absent)
    let stream = try Film("film.h264", "\(Self.brightening(seconds: 2)) \(Self.h264)")
    #expect(code(stream, 4) == .absent)
    let request = DecoderRequest(path: stream.path, mediaType: "")
    let byDefault = Film.code { () throws(DecoderError) in
      _ = try Still.frames(request, count: 4) { false }
    }
    #expect(byDefault == .absent)
  }

  /// A decoder of pictures.
  private enum Still: PictureDecoder {
    static func facts(
      _ request: DecoderRequest, isCancelled: () -> Bool
    ) throws(DecoderError) -> [String: JSONValue] { [:] }

    static func decode(
      _ request: DecoderRequest, isCancelled: () -> Bool
    ) throws(DecoderError) -> DecodedPicture { DecodedPicture(.encoded([])) }
  }

  @Test("Frames that are too large together are refused")
  func tooLarge() throws {
    let film = try Film("film.mp4", "-f lavfi -i testsrc2=s=1920x1080:r=5:d=1 \(Self.h264) -g 1")
    #expect(code(film, 40) == .tooLarge)
    #expect(code(film, 40, longest: 480) == nil)
  }

  @Test("A job that is cancelled ends")
  func cancelled() throws {
    let film = try Film("film.mp4", "\(Self.brightening(seconds: 2)) \(Self.h264) -g 5")
    var calls = 0
    _ = try frames(film, 4) {
      calls += 1
      return false
    }
    // Towards the end, when the container has been opened long since.
    var left = calls - 3
    let code = Film.code { () throws(DecoderError) in
      _ = try frames(film, 4) {
        left -= 1
        return left < 0
      }
    }
    #expect(code == .cancelled)
  }

  @Test("A decoder in a library of its own hands out the same")
  func library() throws {
    let film = try Film("film.mp4", "\(Self.brightening(seconds: 4)) \(Self.h264) -g 5")
    let decoder = try LoadedDecoder(path: DecoderTable.path(of: "video"))
    let found = try decoder.frames(
      DecoderRequest(path: film.path, mediaType: "", longest: 32, frames: 4)
    ) { false }
    let direct = try frames(film, 4, longest: 32)
    #expect(found.pixels == direct.pixels && found.times == direct.times)
    #expect(found.width == 32 && found.height == 24 && found.duration == direct.duration)
  }
}
