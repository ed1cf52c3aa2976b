import PipelineModel

/// The text of a decoder's answer; pixels and profile are bytes beside it.
struct DecoderAnswer: Codable {
  var failure: DecoderError?
  var facts: [String: JSONValue]?
  var picture: Description?
  var frames: Frames?

  /// What the bytes of a picture are.
  struct Description: Codable {
    /// Absent for an encoded picture.
    var width: Int?
    var height: Int?
    var bands: Int?
    var orientation: Int?
    var isPreview: Bool
    var damage: String?
  }

  /// What the bytes of frames are, one below the other.
  struct Frames: Codable {
    var width: Int
    /// The height of one frame.
    var height: Int
    var orientation: Int
    var times: [Double]
    var duration: Double
  }
}

extension DecoderAnswer.Description {
  init(_ picture: DecodedPicture) {
    if case .pixels(_, let width, let height, let bands) = picture.content {
      (self.width, self.height, self.bands) = (width, height, bands)
    }
    orientation = picture.orientation
    isPreview = picture.isPreview
    damage = picture.damage
  }
}

extension DecoderAnswer.Frames {
  init(_ frames: DecodedFrames) {
    (width, height) = (frames.width, frames.height)
    orientation = frames.orientation
    (times, duration) = (frames.times, frames.duration)
  }
}
