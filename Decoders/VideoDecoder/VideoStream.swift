import CLibAV
import PictureDecoding

/// The stream of a container that is shown.
struct VideoStream {
  let stream: UnsafeMutablePointer<AVStream>
  let decoder: UnsafePointer<AVCodec>
  let parameters: AVCodecParameters
  let orientation: FrameOrientation
  /// The width of a pixel divided by its height.
  let pixelAspect: Double

  /// The streams that are films, decodable or not.
  static func films(in input: MediaInput) -> [UnsafeMutablePointer<AVStream>] {
    let hidden = AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS
    return input.streams.filter { stream in
      stream.pointee.codecpar?.pointee.codec_type == AVMEDIA_TYPE_VIDEO
        && stream.pointee.disposition & hidden == 0
    }
  }

  /// Returns the stream to show: decodable, not a cover, preferred by the file, and the largest.
  ///
  /// - Returns: `nil` if the container has no film.
  /// - Throws: `DecoderError` if it has one that can't be decoded.
  static func best(in input: MediaInput) throws(DecoderError) -> VideoStream? {
    let films = films(in: input)
    guard !films.isEmpty else { return nil }
    var best: VideoStream?
    var failure: DecoderError?
    for film in films {
      do throws(DecoderError) {
        let found = try VideoStream(film, input)
        if best.map({ found.rank > $0.rank }) ?? true { best = found }
      } catch {
        failure = failure ?? error
      }
    }
    if let best { return best }
    // A cover can still be shown.
    if let failure, CoverArt.best(in: input) == nil { throw failure }
    return nil
  }

  init(
    _ stream: UnsafeMutablePointer<AVStream>, _ input: MediaInput
  ) throws(DecoderError) {
    guard let parameters = stream.pointee.codecpar?.pointee else { throw MediaInput.noMemory }
    self.stream = stream
    self.parameters = parameters
    decoder = try Self.decoder(of: parameters.codec_id)
    orientation = FrameOrientation(stream)
    let ratio = av_guess_sample_aspect_ratio(input.container, stream, nil)
    pixelAspect = Self.aspect(ratio)
    guard parameters.width > 0, parameters.height > 0 else {
      throw DecoderError(.undecodable, "The film's size is unknown")
    }
    guard Int(parameters.width) * Int(parameters.height) <= MediaLimits.pixels else {
      throw DecoderError(
        .tooLarge,
        "The film is \(parameters.width) × \(parameters.height) pixels; the limit is "
          + "\(MediaLimits.pixels / 1_000_000) megapixels")
    }
  }

  /// Streams are compared by this.
  private var rank: (Int, Int) {
    let isDefault = stream.pointee.disposition & AV_DISPOSITION_DEFAULT != 0
    return (isDefault ? 1 : 0, Int(parameters.width) * Int(parameters.height))
  }

  /// The first decoder of a codec that is allowed.
  static func decoder(of codec: AVCodecID) throws(DecoderError) -> UnsafePointer<AVCodec> {
    var position: UnsafeMutableRawPointer?
    while let candidate = av_codec_iterate(&position) {
      if candidate.pointee.id == codec, av_codec_is_decoder(candidate) != 0,
        let name = candidate.pointee.name,
        AllowedFormats.decoders.contains(String(cString: name))
      {
        return candidate
      }
    }
    let name = String(cString: avcodec_get_name(codec))
    // Debian's libav has all decoders that are allowed; another one may lack the one for AV1.
    if codec == AV_CODEC_ID_AV1 {
      throw DecoderError(.missing, "This machine's libav has no decoder for \(name)")
    }
    throw DecoderError(.undecodable, "The film's codec \(name) is not decoded")
  }

  /// The shape of a pixel; 1 if it is unknown or can't be meant.
  static func aspect(_ ratio: AVRational) -> Double {
    guard ratio.num > 0, ratio.den > 0 else { return 1 }
    let aspect = Double(ratio.num) / Double(ratio.den)
    return (0.1...10).contains(aspect) ? aspect : 1
  }

  /// The size of a frame with square pixels, before it is turned.
  func squareSize(width: Int, height: Int) -> (width: Int, height: Int) {
    (max(1, Int((Double(width) * pixelAspect).rounded())), height)
  }
}
