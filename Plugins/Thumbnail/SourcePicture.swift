import PictureDecoding
import PipelineModel
import Vips

/// The picture that thumbnails of a file are made from, by the decoder of its kind.
struct SourcePicture {
  let opened: OpenedPicture
  /// The decoder in a library of its own, and what it is asked; `nil` if libvips reads the file.
  private let other: (decoder: LoadedDecoder, request: DecoderRequest)?
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
    let kind = try file.withBytes { entry?.decoder(of: $0) }
    guard case .library(let name)? = kind else {
      opened = try OpenedPicture(file, strictness: .truncated, longest: longest)
      (isPreview, damage, other) = (false, nil, nil)
      return
    }
    let decoded: DecodedPicture
    do throws(DecoderError) {
      let decoder = try LoadedDecoder(path: DecoderTable.path(of: name))
      let request = DecoderRequest(path: path, mediaType: type.rawValue, longest: longest)
      decoded = try decoder.decode(request, isCancelled: isCancelled)
      other = (decoder, request)
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

  /// Decodes frames at equal distances over a film.
  ///
  /// - Returns: `nil` if the file is no film, or none of its frames can be decoded.
  func frames(
    _ count: Int, longest: Int, isCancelled: @Sendable () -> Bool
  ) throws(VipsError) -> DecodedFrames? {
    guard let (decoder, question) = other else { return nil }
    var request = question
    (request.longest, request.frames) = (longest, count)
    do throws(DecoderError) {
      return try decoder.frames(request, isCancelled: isCancelled)
    } catch {
      switch error.code {
      case .absent, .undecodable, .tooLarge: return nil
      case .inputOutput, .outOfMemory, .missing, .cancelled: throw VipsError(error)
      }
    }
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
      case .outOfMemory: .outOfMemory
      case .missing: .missing
      case .cancelled: .cancelled
      }
    self.init(code, error.message)
  }
}
