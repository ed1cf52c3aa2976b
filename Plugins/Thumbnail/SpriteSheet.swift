import PipelineModel
import Vips

/// Frames of a film in a grid, from which a player shows what is at a time.
struct SpriteSheet {
  let picture: Picture
  /// What a player needs to find the frame for a time.
  let facts: JSONValue

  static let counts = 2...100
  /// The most pixels of a sheet.
  static let mostPixels = 16_000_000

  init(_ film: FilmFrames) throws(VipsError) {
    let count = film.strip.count
    let columns = Int(Double(count).squareRoot().rounded(.up))
    picture = try film.strip.arranged(columns: columns)
    facts = [
      "columns": .integer(columns), "rows": .integer((count + columns - 1) / columns),
      "count": .integer(count), "width": .integer(film.strip.frameWidth),
      "height": .integer(film.strip.frameHeight),
      // Never zero: players divide by it.
      "interval": .number(max(0.001, Self.rounded(film.duration / Double(count)))),
      "times": .array(film.times.map { .number(Self.rounded($0)) }),
    ]
  }

  /// Milliseconds are enough.
  private static func rounded(_ seconds: Double) -> Double { (seconds * 1000).rounded() / 1000 }

  /// Bytes for the frames of a sheet: as they are decoded, as a sheet, and in the encoder.
  static func bytes(frames: Int, side: Int) -> Int { frames * side * side * 3 * 6 }
}
