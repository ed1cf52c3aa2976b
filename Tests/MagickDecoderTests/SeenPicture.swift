import PictureDecoding

/// What tests look at in a picture.
struct SeenPicture: Equatable {
  var width: Int
  var height: Int
  var bands: Int
  var pixels: [UInt8]

  init?(_ picture: DecodedPicture) {
    guard case .pixels(let pixels, let width, let height, let bands) = picture.content else {
      return nil
    }
    (self.width, self.height, self.bands, self.pixels) = (width, height, bands, pixels)
  }

  /// The first pixel.
  var first: [UInt8] { Array(pixels.prefix(bands)) }
}
