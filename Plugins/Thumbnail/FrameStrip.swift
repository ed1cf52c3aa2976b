import Vips

/// Small pictures of the same size in memory: the frames of an animation or of a film.
struct FrameStrip {
  private var first: Picture?
  /// The pixels of all frames, one behind the other.
  private var bytes: [UInt8] = []
  private(set) var count = 0

  /// The height of a frame, in pixels.
  var frameHeight: Int { first?.height ?? 0 }
  /// The width of a frame, in pixels.
  var frameWidth: Int { first?.width ?? 0 }

  mutating func append(_ frame: Picture) throws(VipsError) {
    first = first ?? frame
    bytes += try frame.pixelBytes()
    count += 1
  }

  /// Arranges the frames in rows, from the top left; places behind the last one are black.
  func arranged(columns: Int) throws(VipsError) -> Picture {
    guard let first else { throw VipsError(.undecodable, "There are no frames") }
    let length = first.width * first.bands
    let rows = (count + columns - 1) / columns
    return try first.replacingPixels(
      width: first.width * columns, height: first.height * rows
    ) { row, values in
      for column in 0..<columns {
        let frame = row / first.height * columns + column
        let start = (frame * first.height + row % first.height) * length
        for index in 0..<length {
          values[column * length + index] = frame < count ? bytes[start + index] : 0
        }
      }
    }
  }
}
