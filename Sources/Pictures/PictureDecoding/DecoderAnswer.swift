import PipelineModel

/// The text of a decoder's answer; pixels and profile are bytes beside it.
struct DecoderAnswer: Codable {
  var failure: DecoderError?
  var facts: [String: JSONValue]?
  var picture: Description?

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
