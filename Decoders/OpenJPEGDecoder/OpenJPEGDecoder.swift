public import CPictureDecoder
import Containers
import PictureDecoding
import PipelineModel

/// Decodes JPEG 2000 that libvips does not read, or shows in wrong colours: see `JPEG2000Structure`.
enum OpenJPEGDecoder: PictureDecoder {
  static func decode(
    _ request: DecoderRequest, isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedPicture {
    try reading(request.path, isCancelled) { file, codestream throws(DecoderError) in
      try refuse(codestream.layout, file.structure)
      let reduction = codestream.reduction(
        for: request.longest, hasPalette: file.structure?.mayHavePalette != false)
      let channels = try codestream.decode(reduction)
      let (pixels, bands) = channels.colors(file.structure?.colors)
      let layout = codestream.layout
      var picture = DecodedPicture(
        .pixels(
          pixels, width: layout.width(reduction), height: layout.height(reduction), bands: bands))
      picture.orientation = file.orientation
      picture.profile = channels.profile(file.structure?.colors, bands: bands)
      return picture
    }
  }

  static func facts(
    _ request: DecoderRequest, isCancelled: () -> Bool
  ) throws(DecoderError) -> [String: JSONValue] {
    try reading(request.path, isCancelled) { file, codestream throws(DecoderError) in
      let layout = codestream.layout
      let (width, height) = (layout.width(0), layout.height(0))
      let swaps = file.orientation > 4
      let model = ColorModel(layout, file.structure?.colors)
      var facts: [String: JSONValue] = [
        "width": .integer(swaps ? height : width), "height": .integer(swaps ? width : height),
        "orientation": .integer(file.orientation), "pages": 1,
        "alpha": .bool(layout.components.count == model.channels + 1),
        "bitDepth": .integer(layout.components.map(\.bits).max() ?? 8),
        "colorSpace": .string(model.name),
      ]
      let hasPalette = file.structure?.mayHavePalette != false
      let whole = codestream.memory(reduction: 0, hasPalette: hasPalette)
      let reduction = codestream.reduction(for: commonSide, hasPalette: hasPalette)
      let reduced = codestream.memory(reduction: reduction, hasPalette: hasPalette)
      facts["decodeBytes"] = [
        "streamed": .integer(whole), "whole": .integer(whole), "reduced": .integer(reduced),
      ]
      do throws(DecoderError) {
        try refuse(layout, file.structure)
      } catch {
        facts["problem"] = .string(error.message + ".")
      }
      return facts
    }
  }

  /// The longer side that `reduced` is about, as of other decoders.
  private static let commonSide = 1024
  /// The most pixels of a picture, as of other kinds.
  private static let pixelLimit = 500_000_000
  /// The most components of a picture.
  private static let componentLimit = 100

  /// - Throws: `DecoderError` if the picture is not decoded, whatever its pixels are.
  private static func refuse(
    _ layout: SampleLayout, _ structure: JPEG2000Structure?
  ) throws(DecoderError) {
    guard layout.components.count <= componentLimit else {
      throw DecoderError(
        .tooLarge, "The picture has more than \(componentLimit) components and is not decoded")
    }
    // A side has at most 2³² pixels.
    guard layout.width(0) * layout.height(0) <= pixelLimit else {
      throw DecoderError(
        .tooLarge,
        "The picture has more than \(pixelLimit / 1_000_000) megapixels and is not decoded")
    }
  }

  /// Opens a file for the time of a body, whose answer only counts if the kernel could read the file.
  private static func reading<Value>(
    _ path: String, _ isCancelled: () -> Bool,
    _ body: (OpenedFile, Codestream) throws(DecoderError) -> Value
  ) throws(DecoderError) -> Value {
    let file = try OpenedFile(path)
    let result: Result<Value, DecoderError> = withoutActuallyEscaping(isCancelled) { isCancelled in
      let source = CodestreamSource(file.input, isCancelled: isCancelled)
      do throws(DecoderError) {
        let value = try body(file, Codestream(source))
        if let failure = source.failure { throw failure }
        return .success(value)
      } catch {
        // What OpenJPEG says of missing bytes hides why they are missing.
        return .failure(source.failure ?? error)
      }
    }
    return try result.get()
  }
}

/// A file, and what its boxes tell before OpenJPEG reads it.
private struct OpenedFile {
  let input: InputFile
  /// `nil` if it can't be parsed; OpenJPEG may still read it.
  let structure: JPEG2000Structure?
  /// The orientation of its EXIF block.
  let orientation: Int

  init(_ path: String) throws(DecoderError) {
    do throws(InputFile.Failure) {
      input = try InputFile(path: path)
      structure = try input.withBytes { JPEG2000Structure($0) }
      let exif = try input.withBytes { EmbeddedMetadata($0) }.exif.map { ExifBlock($0) }
      orientation = exif?.orientation.map { Int($0) } ?? 1
    } catch {
      throw DecoderError(.inputOutput, error.message)
    }
  }
}

/// The function that this library exports.
@c(picture_decoder_v1)
public func pictureDecoder() -> UnsafePointer<picture_decoder>? {
  exportDecoder(OpenJPEGDecoder.self)
}
