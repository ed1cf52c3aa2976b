import Fixtures
import Foundation
import PictureDecoding
import PipelineModel
import Testing

@testable import VideoDecoder

@Suite(
  "The frame that stands for a film", .enabled(if: Film.canBeMade, "ffmpeg is not installed"),
  .timeLimit(.minutes(2))
)
struct PosterTests {
  private static let picture = "-f lavfi -i testsrc2=s=160x120:r=25:d=3"
  private static let h264 = "-c:v libx264 -preset ultrafast -pix_fmt yuv420p"
  /// Black for three seconds, then a picture for five.
  private static let late =
    "-f lavfi -i color=black:s=160x120:r=25:d=3 -f lavfi -i testsrc2=s=160x120:r=25:d=5 "
    + "-filter_complex concat=n=2"

  @Test("A black beginning is not shown")
  func blackBeginning() throws {
    let film = try Film("film.mp4", "\(Self.late) \(Self.h264) -g 25")
    #expect(try film.frame().mean > 50)
  }

  @Test("A film whose only key frame is black shows a frame behind it")
  func blackKeyFrame() throws {
    let film = try Film("film.mp4", "\(Self.late) -c:v mpeg4 -g 600 -sc_threshold 1000000000")
    #expect(try film.frame().mean > 50)
  }

  @Test("A frame that is sharp is preferred to one that is blurred")
  func blurredBeginning() throws {
    let filter = "-vf gblur=sigma=30:enable='lt(t,1.9)'"
    let film = try Film("film.mp4", "\(Self.picture) \(filter) \(Self.h264) -g 25")
    let frame = try film.decode()
    guard case .pixels(let pixels, let width, let height, _) = frame.content else { return }
    let interest = FrameInterest(
      Poster(pixels: pixels, width: width, height: height, isWhole: true))
    #expect(interest.sharpness > 2)
  }

  @Test("A black film is shown black")
  func allBlack() throws {
    let film = try Film("film.mp4", "-f lavfi -i color=black:s=64x48:r=25:d=2 -c:v mpeg4")
    #expect(try film.frame().mean < 5)
  }

  @Test("A film of one frame shows it")
  func oneFrame() throws {
    let film = try Film("film.mp4", "\(Self.picture) \(Self.h264) -frames:v 1")
    #expect(try film.frame().mean > 50)
  }

  @Test(
    "A film of few frames whose container moves to none of them shows one", arguments: [1, 3])
  func fewFrames(count: Int) throws {
    let film = try Film("film.flv", "\(Self.picture) \(Self.h264) -frames:v \(count)")
    #expect(try film.frame().mean > 50)
  }

  @Test(
    "Colours that are stored as they are stay so in any size",
    arguments: [("film.mov", "-c:v qtrle -pix_fmt rgb24"), ("film.mov", "-c:v png -pix_fmt rgb24")])
  func plainColors(name: String, options: String) throws {
    for color in ["0x1EC83C", "0xFF0000"] {
      let film = try Film(
        name, "-f lavfi -i color=\(color):s=1280x64:r=5:d=1,format=rgb24 \(options)")
      let wanted = color == "0xFF0000" ? [255, 0, 0] : [30, 200, 60]
      for (value, expected) in zip(try film.frame(longest: 320).middle, wanted) {
        #expect(abs(value - expected) <= 2, "\(value) \(expected)")
      }
    }
  }

  @Test(
    "Films of archives and of former computers are decoded",
    arguments: ["jpeg2000", "smc", "cinepak", "qtrle"])
  func formerCodecs(codec: String) throws {
    let film = try Film("film.mov", "\(Self.picture) -frames:v 3 -c:v \(codec)")
    #expect(try film.facts["problem"] == nil && film.frame().mean > 50)
  }

  @Test("What is cut off on the left is not shown, to the pixel")
  func cropped() throws {
    let crop = "-bsf:v h264_metadata=crop_left=40:crop_right=20:crop_top=10:crop_bottom=38"
    let film = try Film("film.mp4", "\(Self.picture) \(Self.h264) \(crop)")
    let frame = try film.frame()
    #expect(frame.width == 100 && frame.height == 80)
    #expect(try film.facts["width"] == 100 && film.facts["height"] == 80)
    // As the same part of the whole film.
    let part = try Film("film.mp4", "\(Self.picture) -vf crop=100:80:40:10 \(Self.h264)")
    #expect(abs(try part.frame().mean - frame.mean) < 3)
  }

  @Test("Colours that only the container tells are as those that the film tells")
  func colorsOfContainer() throws {
    let colors = "-color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc"
    let picture = "\(Self.picture) \(Self.h264)"
    let silent = try Film("silent.mp4", picture)
    func copied(_ options: String) throws -> Film {
      try silent.make(silent.beside("copy.mp4"), "-i @/silent.mp4 -c copy \(options)")
      let copy = try Film("film.mp4", "")
      try copy.write(Array(Data(contentsOf: URL(fileURLWithPath: silent.beside("copy.mp4")))))
      return copy
    }
    let told = try copied(
      "-bsf:v h264_metadata=colour_primaries=9:transfer_characteristics=16:matrix_coefficients=9")
    let film = try copied(colors)
    #expect(try film.facts["hdr"] == "pq" && told.facts["hdr"] == "pq")
    #expect(try silent.facts["hdr"] == nil)
    #expect(try film.frame().pixels == told.frame().pixels)
    #expect(try film.frame().pixels != silent.frame().pixels)
  }

  @Test(
    "Streams with a single key frame, at their start, are read from there",
    arguments: [
      ("film.ts", "\(Self.h264) -g 600"), ("film.h264", "\(Self.h264) -g 600"),
      ("film.ts", "\(Self.h264) -g 600 -flags +ildct+ilme -x264opts tff=1"),
      ("film.mpg", "-c:v mpeg2video -g 600 -sc_threshold 1000000000"),
    ])
  func singleKeyFrame(name: String, options: String) throws {
    let film = try Film(name, "\(Self.picture) \(options)")
    #expect(try film.frame().mean > 50)
  }

  @Test("Films without a container are entered at parts of their bytes")
  func partsOfBytes() throws {
    // The black part is longer than what is read in search of something to show.
    let film = try Film(
      "film.m2v",
      "-f lavfi -i color=black:s=160x120:r=25:d=16 -f lavfi -i testsrc=s=160x120:r=25:d=16 "
        + "-filter_complex concat -g 25 -c:v mpeg2video -f mpeg2video")
    #expect(try film.frame().mean > 50)
  }

  @Test("The picture is as small as needed, never larger than the film, and the same each time")
  func size() throws {
    let film = try Film("film.mp4", "\(Self.picture) \(Self.h264)")
    let small = try film.frame(longest: 64)
    #expect(small.width == 64 && small.height == 48)
    let large = try film.frame(longest: 1000)
    #expect(large.width == 160 && large.height == 120)
    #expect(try film.frame(longest: 64).pixels == small.pixels)
  }

  @Test(
    "Colours are those of the film's matrix and range",
    arguments: [
      ("bt709", "tv"), ("bt709", "pc"), ("smpte170m", "tv"), ("smpte170m", "pc"), ("bt2020", "tv"),
    ])
  func colors(matrix: String, range: String) throws {
    let tag = matrix == "bt2020" ? "bt2020nc" : matrix
    let film = try Film(
      "film.mkv",
      "-f lavfi -i color=0xC86432:s=64x48:r=5:d=1,format=rgb24 "
        + "-vf scale=out_color_matrix=\(matrix):out_range=\(range),format=yuv444p "
        + "-c:v ffv1 -colorspace \(tag) -color_range \(range)")
    for (value, expected) in zip(try film.frame().middle, [200, 100, 50]) {
      #expect(abs(value - expected) <= 3)
    }
  }

  @Test(
    "White of high dynamic range is nearly white",
    // 58 % of PQ and 75 % of HLG are both 203 cd/m²; source: ITU-R BT.2408.
    arguments: [("smpte2084", "0x949494", "pq"), ("arib-std-b67", "0xBFBFBF", "hlg")])
  func highDynamicRange(transfer: String, color: String, fact: String) throws {
    func film(_ color: String) throws -> Film {
      try Film(
        "film.mp4",
        "-f lavfi -i color=\(color):s=64x48:r=5:d=1 \(Self.h264) -color_primaries bt2020 "
          + "-color_trc \(transfer) -colorspace bt2020nc")
    }
    let white = try film(color)
    #expect(try white.facts["hdr"] == .string(fact))
    for value in try white.frame().middle { #expect((212...236).contains(value)) }
    for value in try film("black").frame().middle { #expect(value < 4) }
    for value in try film("white").frame().middle { #expect(value > 252) }
  }

  @Test("A job that is cancelled ends")
  func cancelled() throws {
    let film = try Film("film.mp4", "\(Self.picture) \(Self.h264)")
    let request = DecoderRequest(path: film.path, mediaType: "")
    let code = Film.code { () throws(DecoderError) in
      _ = try VideoDecoder.decode(request) { true }
    }
    #expect(code == .cancelled)
    var calls = 0
    let later = Film.code { () throws(DecoderError) in
      _ = try VideoDecoder.decode(request) {
        calls += 1
        return calls > 3
      }
    }
    #expect(later == .cancelled)
  }
}
