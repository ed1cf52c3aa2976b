package import PipelineModel

/// Decodes files of kinds that libvips does not read, by a library that is only loaded for them.
///
/// A decoder is a shared library of its own, which exports itself by `exportDecoder`. Its functions
/// may be called by several threads at once.
package protocol PictureDecoder {
  /// Finds facts about a file, without decoding more than that takes.
  ///
  /// Known names are those of the stage `identify`. `width` and `height` are those of the picture as it
  /// is displayed.
  ///
  /// - Throws: `DecoderError`; `undecodable` if there is nothing to be said of the file.
  static func facts(
    _ request: DecoderRequest, isCancelled: () -> Bool
  ) throws(DecoderError) -> [String: JSONValue]

  /// Decodes the picture that stands for the file.
  static func decode(
    _ request: DecoderRequest, isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedPicture

  /// Decodes frames at equal distances over a film.
  ///
  /// - Parameter count: how many.
  /// - Throws: `DecoderError`; `absent` if the file is no film, as by default.
  static func frames(
    _ request: DecoderRequest, count: Int, isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedFrames
}

extension PictureDecoder {
  package static func frames(
    _ request: DecoderRequest, count: Int, isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedFrames {
    throw DecoderError(.absent, "The file is no film")
  }
}

/// What a decoder is asked.
package struct DecoderRequest: Codable, Sendable {
  /// The file, which stays as it is.
  package var path: String
  package var mediaType: String
  /// The longer side, in pixels, that the picture is needed for; `nil` for the full size.
  ///
  /// The picture should not be much larger, to save time, and must not be smaller if the file has
  /// more pixels.
  package var longest: Int?
  /// How many frames of a film are needed; `nil` for the picture that stands for the file.
  package var frames: Int?

  package init(path: String, mediaType: String, longest: Int? = nil, frames: Int? = nil) {
    self.path = path
    self.mediaType = mediaType
    self.longest = longest
    self.frames = frames
  }
}

/// A picture as a decoder hands it out.
package struct DecodedPicture: Sendable {
  /// What the bytes are.
  package enum Content: Sendable {
    /// A picture file that libvips reads, such as the JPEG in a raw file.
    case encoded([UInt8])
    /// Rows of 8-bit values without gaps, from the top: grey (1 band), RGB (3) or RGB and alpha (4).
    case pixels([UInt8], width: Int, height: Int, bands: Int)
  }

  package var content: Content
  /// The EXIF orientation still to be applied: 1 to 8.
  ///
  /// `nil` for an encoded picture whose own orientation is to be applied.
  package var orientation: Int? = 1
  /// The ICC profile of pixels; empty for sRGB.
  package var profile: [UInt8] = []
  /// Whether the picture was made from a preview in the file, instead of what the file is about.
  package var isPreview = false
  /// What is damaged in the file, as a clause; `nil` if nothing is.
  package var damage: String?

  package init(_ content: Content) { self.content = content }
}

/// Frames of a film, as a decoder hands them out.
///
/// The film is divided into as many parts of the same length as there are frames. Each frame is of
/// its part's middle, or the nearest one before it that is to be had.
package struct DecodedFrames: Sendable {
  /// Rows of RGB with 8 bits in sRGB, without gaps; the frames are one below the other.
  package var pixels: [UInt8]
  package var width: Int
  /// The height of one frame.
  package var height: Int
  /// The EXIF orientation still to be applied to each frame: 1 to 8.
  package var orientation = 1
  /// When each frame is shown, in seconds from the start of the file, as a player counts.
  package var times: [Double]
  /// When the film ends, in the same seconds: its sound may go on.
  package var duration: Double

  package init(
    pixels: [UInt8], width: Int, height: Int, orientation: Int, times: [Double], duration: Double
  ) {
    self.pixels = pixels
    self.width = width
    self.height = height
    self.orientation = orientation
    self.times = times
    self.duration = duration
  }
}

/// Why a file can't be decoded.
package struct DecoderError: Error, Hashable, Sendable, Codable {
  package enum Code: String, Hashable, Sendable, Codable {
    /// The bytes are damaged, cut short, or of a kind that is not decoded.
    case undecodable
    /// The file is whole, but has nothing to show, such as sound without a cover.
    case absent
    /// The picture is larger than the limits allow.
    case tooLarge
    /// The kernel can't read the file.
    case inputOutput
    /// The process was refused memory.
    case outOfMemory
    /// This machine's library lacks a part, such as a codec.
    case missing
    case cancelled
  }

  package var code: Code
  /// One sentence without a path and without a full stop.
  package var message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}
