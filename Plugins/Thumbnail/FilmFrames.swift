import PictureDecoding
import Vips

/// Frames of a film at equal distances, in the size of a thumbnail.
struct FilmFrames {
  /// The frames, upright and with the colours of thumbnails.
  let strip: FrameStrip
  /// When each is shown, in seconds from the start of the file.
  let times: [Double]
  /// When the film ends, in the same seconds.
  let duration: Double

  /// Decodes the frames; `nil` if the file is no film, or none can be decoded.
  init?(
    _ count: Int, of source: SourcePicture, by decoder: ThumbnailDecoder, longest: Int
  ) throws(VipsError) {
    guard
      let decoded = try source.frames(count, longest: longest, isCancelled: decoder.isCancelled)
    else { return nil }
    let length = decoded.width * decoded.height * 3
    let size = ThumbnailOptions.Size(name: "frame", maxPixelSize: longest)
    var strip = FrameStrip()
    for index in decoded.times.indices {
      let pixels = try Picture.pixels(
        Array(decoded.pixels[(index * length)..<((index + 1) * length)]), width: decoded.width,
        height: decoded.height, bands: 3)
      let frame = try OpenedPicture(
        pixels: pixels, orientation: decoded.orientation, profile: [])
      try strip.append(decoder.decode(frame, preview: nil, to: size, isFirst: true).picture)
    }
    self.strip = strip
    times = decoded.times
    duration = decoded.duration
  }
}
