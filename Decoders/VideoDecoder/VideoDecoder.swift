public import CPictureDecoder
import PictureDecoding
import PipelineModel

/// Films and sound files, by libav.
///
/// A film is shown by one of its frames, a sound file by its cover.
enum VideoDecoder: PictureDecoder {
  static func facts(
    _ request: DecoderRequest, isCancelled: () -> Bool
  ) throws(DecoderError) -> [String: JSONValue] {
    try withInput(request, isCancelled) { input throws(DecoderError) in
      try input.examineStreams()
      return try VideoFacts(input).facts
    }
  }

  static func decode(
    _ request: DecoderRequest, isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedPicture {
    try withInput(request, isCancelled) { input throws(DecoderError) in
      if !input.isDescribedByHeader { try input.examineStreams() }
      if let stream = try VideoStream.best(in: input) {
        do throws(DecoderError) {
          return try frame(of: stream, in: input, longest: request.longest)
        } catch  where error.code == .undecodable {
          // A cover is better than nothing.
          guard let cover = CoverArt.best(in: input) else { throw error }
          return try cover.picture()
        }
      }
      guard let cover = CoverArt.best(in: input) else {
        throw DecoderError(.absent, "The file has sound only, and no cover")
      }
      return try cover.picture()
    }
  }

  static func frames(
    _ request: DecoderRequest, count: Int, isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedFrames {
    try withInput(request, isCancelled) { input throws(DecoderError) in
      // Tells how many frames there are in a second.
      try input.examineStreams()
      guard let stream = try VideoStream.best(in: input) else {
        throw DecoderError(.absent, "The file is no film")
      }
      let reader = try FrameReader(input, stream, longest: request.longest)
      return try FrameSeries(reader: reader, longest: request.longest, count: count).run()
    }
  }

  private static func frame(
    of stream: VideoStream, in input: MediaInput, longest: Int?
  ) throws(DecoderError) -> DecodedPicture {
    let isCut = FileEnd.isCut(input, stream)
    let reader = try FrameReader(input, stream, longest: longest)
    var search = PosterSearch(reader: reader, longest: longest)
    let poster = try search.run()
    var picture = DecodedPicture(
      .pixels(poster.pixels, width: poster.width, height: poster.height, bands: 3))
    picture.orientation = stream.orientation.exif
    if !poster.isWhole {
      picture.damage = "parts of the frame can't be decoded"
    } else if isCut {
      picture.damage = "it ends too early"
    }
    return picture
  }

  /// Opens the file for the time of a call.
  ///
  /// - Throws: also if the file could not be read somewhere although `body` came to a result, because
  ///   a later try may find more.
  static func withInput<Value>(
    _ request: DecoderRequest, _ isCancelled: () -> Bool,
    _ body: (MediaInput) throws(DecoderError) -> Value
  ) throws(DecoderError) -> Value {
    let result = withoutActuallyEscaping(isCancelled) { isCancelled in
      Result { () throws(DecoderError) in
        let input = try MediaInput(path: request.path, isCancelled: isCancelled)
        do throws(DecoderError) {
          try input.openContainer()
          let value = try body(input)
          if let cause = input.cause { throw cause }
          return value
        } catch {
          // A failure of the kernel or a request to stop is the reason of what follows from it.
          throw input.cause ?? error
        }
      }
    }
    return try result.get()
  }
}

@c(picture_decoder_v1)
public func pictureDecoder() -> UnsafePointer<picture_decoder>? {
  exportDecoder(VideoDecoder.self)
}
