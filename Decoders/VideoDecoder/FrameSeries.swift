import CLibAV
import PictureDecoding

/// Decodes frames at equal distances over a film, from the start of its file, whose sound may begin before.
///
/// Each part of the film is shown by the last key frame before its middle, which takes as long to
/// be found in a film of any length. If key frames are farther apart than that, so that one would
/// have to be shown twice, and the film is short, all frames are decoded in a row instead.
struct FrameSeries {
  let reader: FrameReader
  let longest: Int?
  /// How many frames there are to be.
  let count: Int

  private typealias Shown = (poster: Poster, time: Double)

  /// Decodes the frames.
  ///
  /// - Throws: `DecoderError` of code `absent` if the film's length is unknown, `undecodable` if no
  ///   frame can be decoded, and `tooLarge`.
  func run() throws(DecoderError) -> DecodedFrames {
    guard let duration = reader.end else {
      throw DecoderError(.absent, "The length of the film is unknown")
    }
    guard count > 0 else { throw DecoderError(.absent, "No frames are asked for") }
    var found = try keyFrames(duration)
    let missing = found.count { $0 == nil }
    if missing > 0, let most = framesInRow(duration) {
      let all = try inRow(duration, most: most)
      if all.count(where: { $0 == nil }) < missing { found = all }
    }
    return try frames(found, duration)
  }

  /// The middle of a part, in seconds.
  private func middle(of index: Int, _ duration: Double) -> Double {
    duration * (Double(index) + 0.5) / Double(count)
  }

  /// Decodes key frames alone; `nil` where there is none, or that of an earlier part.
  private func keyFrames(_ duration: Double) throws(DecoderError) -> [Shown?] {
    var found: [Shown?] = []
    for index in 0..<count {
      guard reader.seek(toTime: middle(of: index, duration)),
        case .frame(let frame) = try reader.keyFrame()
      else {
        found.append(nil)
        continue
      }
      found.append(
        (try poster(frame), reader.time(of: frame) ?? middle(of: index, duration)))
    }
    return found
  }

  /// How many frames the film has, if they are few enough to be decoded in a row.
  private func framesInRow(_ duration: Double) -> Int? {
    let rate = reader.stream.stream.pointee.avg_frame_rate
    guard rate.num > 0, rate.den > 0 else { return nil }
    let frames = duration * Double(rate.num) / Double(rate.den)
    let pixels = Int(reader.stream.parameters.width) * Int(reader.stream.parameters.height)
    let most = min(MediaLimits.framesInSeries, MediaLimits.pixelsInSeries / max(pixels, 1))
    return frames <= Double(most) ? most : nil
  }

  /// Decodes from the start; `nil` for parts in whose middle there is no frame that is whole.
  private func inRow(_ duration: Double, most: Int) throws(DecoderError) -> [Shown?] {
    var found = [Shown?](repeating: nil, count: count)
    guard reader.rewind() else { return found }
    let rate = reader.stream.stream.pointee.avg_frame_rate
    // Half of the time that a frame is shown, so that the nearest one counts.
    let slack = 0.5 * Double(rate.den) / Double(rate.num)
    var next = 0
    for _ in 0..<most {
      guard next < count, let frame = try reader.nextFrame() else { break }
      guard frame.isWhole, let time = reader.time(of: frame),
        time + slack >= middle(of: next, duration)
      else { continue }
      let shown = (try poster(frame), time)
      while next < count, time + slack >= middle(of: next, duration) {
        found[next] = shown
        next += 1
      }
    }
    return found
  }

  /// Scales a frame, unless all of them together would be too large.
  private func poster(_ frame: VideoFrame) throws(DecoderError) -> Poster {
    let poster = try FrameScaler(longest: longest, stream: reader.stream).poster(frame)
    guard poster.width * poster.height <= MediaLimits.pixels / count else {
      throw DecoderError(
        .tooLarge,
        "\(count) frames of the film have \(poster.width) × \(poster.height) pixels each; the "
          + "limit is \(MediaLimits.pixels / 1_000_000) megapixels in all")
    }
    return poster
  }

  /// Puts the frames one below the other; where one is missing, the one before it is shown.
  private func frames(_ found: [Shown?], _ duration: Double) throws(DecoderError) -> DecodedFrames {
    guard let first = found.lazy.compactMap({ $0 }).first else {
      throw DecoderError(.undecodable, "No frame of the film can be decoded")
    }
    let size = (first.poster.width, first.poster.height)
    var last = first
    var pixels: [UInt8] = []
    var times: [Double] = []
    pixels.reserveCapacity(count * first.poster.pixels.count)
    for shown in found {
      // In some streams, frames have different sizes.
      if let shown, (shown.poster.width, shown.poster.height) == size { last = shown }
      pixels += last.poster.pixels
      times.append(min(last.time, duration))
    }
    return DecodedFrames(
      pixels: pixels, width: size.0, height: size.1,
      orientation: reader.stream.orientation.exif, times: times, duration: duration)
  }
}
