import CLibAV
import PictureDecoding

/// Finds the frame that stands for a film.
///
/// Key frames at a tenth, a quarter, half and three quarters of the length and the first one are
/// tried in this order. The first good one is taken, or otherwise the best. If there are none, or
/// all of them are blank, frames are decoded in a row from the start.
struct PosterSearch {
  let reader: FrameReader
  let longest: Int?

  private var best: (poster: Poster, interest: FrameInterest)?

  private static let parts = [0.1, 0.25, 0.5, 0.75, 0]

  init(reader: FrameReader, longest: Int?) {
    self.reader = reader
    self.longest = longest
  }

  /// Searches.
  ///
  /// - Throws: `DecoderError` of code `undecodable` if no frame can be decoded.
  mutating func run() throws(DecoderError) -> Poster {
    for part in Self.parts {
      guard reader.seek(toPart: part) || part == 0 else { continue }
      if case .frame(let frame) = try reader.keyFrame(), try isGood(frame) { break }
    }
    if best.map({ $0.interest.isBlank }) ?? true {
      // Streams that can't be searched are read on from where they are.
      _ = reader.rewind()
      try searchInRow()
    }
    // Some containers of few frames are at their end where they claim to be at a frame.
    if !reader.hasPackets, reader.rewindByBytes() { try searchInRow() }
    if best == nil, reader.rewind(),
      case .frame(let frame) = try reader.keyFrame(acceptingDamage: true)
    {
      _ = try isGood(frame)
    }
    guard let best else {
      throw DecoderError(.undecodable, "No frame of the film can be decoded")
    }
    return best.poster
  }

  /// Decodes the next frames, and looks at every eighth.
  private mutating func searchInRow() throws(DecoderError) {
    let pixels = Int(reader.stream.parameters.width) * Int(reader.stream.parameters.height)
    let count = min(MediaLimits.framesInRow, max(8, MediaLimits.pixelsInRow / max(pixels, 1)))
    var damaged: VideoFrame?
    for index in 0..<count {
      guard let frame = try reader.nextFrame() else { break }
      guard frame.isWhole else {
        damaged = damaged ?? frame
        continue
      }
      guard best == nil || index % 8 == 0 else { continue }
      if try isGood(frame) { return }
    }
    if best == nil, let damaged { _ = try isGood(damaged) }
  }

  /// Keeps a frame if it is the best so far, and tells whether it is good enough to stop.
  private mutating func isGood(_ frame: VideoFrame) throws(DecoderError) -> Bool {
    let poster = try FrameScaler(longest: longest, stream: reader.stream).poster(frame)
    let interest = FrameInterest(poster)
    if best.map({ interest.score > $0.interest.score }) ?? true { best = (poster, interest) }
    return interest.isGood
  }
}
