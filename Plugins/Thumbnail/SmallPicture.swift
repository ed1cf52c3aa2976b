import Vips

/// A thumbnail in memory, and the alpha that it had before it was flattened.
struct SmallPicture {
  var picture: Picture
  /// One band of 8 bits; `nil` if nothing was flattened.
  var alpha: Picture?

  init(_ picture: Picture, alpha: Picture? = nil) {
    self.picture = picture
    self.alpha = alpha
  }

  func upright(from orientation: Int) throws(VipsError) -> SmallPicture {
    try map { picture throws(VipsError) in try picture.upright(from: orientation) }
  }

  func rendered(isCancelled: @escaping @Sendable () -> Bool) throws(VipsError) -> SmallPicture {
    try map { picture throws(VipsError) in try picture.rendered(isCancelled: isCancelled) }
  }

  private func map(
    _ change: (Picture) throws(VipsError) -> Picture
  ) throws(VipsError) -> SmallPicture {
    guard let alpha else { return SmallPicture(try change(picture)) }
    return SmallPicture(try change(picture), alpha: try change(alpha))
  }
}
