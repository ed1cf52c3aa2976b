import PictureDecoding
import PipelineModel
import Vips

/// The picture that thumbnails of a file are made from, by the decoder of its kind.
struct SourcePicture {
  let opened: OpenedPicture
  /// Whether it is a preview of what the file is about.
  let isPreview: Bool
  /// What is damaged in the file, without a full stop; `nil` if nothing is, or if that shows later.
  let damage: String?

  /// Opens a file.
  ///
  /// - Parameters:
  ///   - longest: the longer side that is needed, in pixels; `nil` for all pixels that there are.
  init(
    _ path: String, of type: MediaType, longest: Int?, isCancelled: @Sendable () -> Bool
  ) throws(VipsError) {
    let file = try PictureFile(path: path)
    let entry = DecoderTable.entry(for: type)
    if let refusal = entry?.refusal(ofBytes: file.size) { throw VipsError(.tooLarge, refusal) }
    guard case .library(let name)? = entry?.decoder else {
      opened = try OpenedPicture(file, strictness: .truncated, longest: longest)
      (isPreview, damage) = (false, nil)
      return
    }
    let decoded: DecodedPicture
    do throws(DecoderError) {
      let decoder = try LoadedDecoder(path: DecoderTable.path(of: name))
      decoded = try decoder.decode(
        DecoderRequest(path: path, mediaType: type.rawValue, longest: longest),
        isCancelled: isCancelled)
    } catch {
      throw VipsError(error)
    }
    opened =
      switch decoded.content {
      case .encoded(let bytes):
        try OpenedPicture(
          contained: bytes, orientation: decoded.orientation, profile: decoded.profile)
      case .pixels(let bytes, let width, let height, let bands):
        try OpenedPicture(
          pixels: .pixels(bytes, width: width, height: height, bands: bands),
          orientation: decoded.orientation ?? 1, profile: decoded.profile)
      }
    isPreview = decoded.isPreview
    damage = decoded.damage
  }
}

extension VipsError {
  /// The same failure in a decoder of another library.
  init(_ error: DecoderError) {
    let code: Code =
      switch error.code {
      case .undecodable: .undecodable
      case .absent: .absent
      case .tooLarge: .tooLarge
      case .inputOutput: .inputOutput
      case .missing: .missing
      case .cancelled: .cancelled
      }
    self.init(code, error.message)
  }
}
