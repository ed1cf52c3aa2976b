import Vips

/// The frames of an animated picture, or of a film, in the size of a thumbnail.
struct Animation {
  /// All frames, one below the other.
  let strip: Picture
  /// Pixels.
  let frameHeight: Int
  /// How long each frame is shown, in milliseconds.
  let delays: [Int]
  /// How often it is shown; 0 for ever.
  let loops: Int

  /// The most frames of a thumbnail; of more, every second, third and so on is kept.
  private static let mostFrames = 100
  /// The most pixels of all frames of a thumbnail together, which are kept in memory.
  private static let mostPixels = 16_000_000

  /// Makes a thumbnail of all frames that can be decoded.
  ///
  /// - Returns: `nil` if the picture does not move, or is too large: less than two frames would be
  ///   left.
  init?(
    _ opened: OpenedPicture, by decoder: ThumbnailDecoder, size: (width: Int, height: Int),
    longest: Int
  ) throws(VipsError) {
    guard opened.isAnimated, let source = opened.source, let loader = opened.loader else {
      return nil
    }
    // A bomb of many large frames is shown up to here; the job's limits come on top.
    let pixels = opened.header.width * opened.header.height
    let readable = min(opened.header.pages, OpenedPicture.pixelLimit / max(1, pixels))
    let kept = min(Self.mostFrames, Self.mostPixels / max(1, size.width * size.height))
    guard readable > 1, kept > 1 else { return nil }
    let frames = try Picture.loadFrames(source, as: loader, count: readable)
    let step = (readable + kept - 1) / kept
    let times = frames.integers("delay")
    var delays: [Int] = []
    var strip = FrameStrip()
    for index in stride(from: 0, to: readable, by: step) {
      try strip.append(decoder.decode(frame: index, of: frames, opened, longest: longest))
      let delay = (index..<min(index + step, readable)).reduce(0) { sum, index in
        sum + (index < times.count ? max(0, min(times[index], Self.longestDelay)) : 0)
      }
      delays.append(min(delay, Self.longestDelay))
    }
    guard delays.count > 1 else { return nil }
    self.strip = try strip.arranged(columns: 1)
    frameHeight = strip.frameHeight
    self.delays = delays
    loops = frames.integer("loop") ?? 0
  }

  /// The frames of a film that are shown for three seconds, over and over.
  static let framesOfFilm = 12
  /// What they are shown together, in milliseconds; a shorter film has its own length.
  private static let lengthOfFilm = 3000.0

  /// Makes a thumbnail that passes through a whole film.
  ///
  /// - Returns: `nil` if the file is no film, or only one frame can be decoded or kept.
  init?(
    film source: SourcePicture, by decoder: ThumbnailDecoder, size: (width: Int, height: Int),
    longest: Int
  ) throws(VipsError) {
    let count = min(Self.framesOfFilm, Self.mostPixels / max(1, size.width * size.height))
    guard count > 1,
      let film = try FilmFrames(count, of: source, by: decoder, longest: longest),
      Set(film.times).count > 1
    else { return nil }
    strip = try film.strip.arranged(columns: 1)
    frameHeight = film.strip.frameHeight
    let delay = min(Self.lengthOfFilm, film.duration * 1000) / Double(count)
    // Browsers show frames of ten milliseconds for longer than others.
    delays = [Int](repeating: max(20, Int(delay.rounded())), count: count)
    loops = 0
  }

  /// Bytes for the frames of a thumbnail: as they are made, as a strip, and in the encoder.
  static func bytes(frames: Int, side: Int) -> Int {
    min(mostPixels, min(frames, mostFrames) * side * side) * 4 * 3
  }

  /// Bytes for the frames of a film: those, and three times as the decoder hands them out.
  static func bytesOfFilm(side: Int) -> Int {
    bytes(frames: framesOfFilm, side: side)
      + min(mostPixels, framesOfFilm * side * side) * 3 * 3
  }

  /// What a frame is shown at most, in milliseconds: a minute.
  private static let longestDelay = 60_000
}
