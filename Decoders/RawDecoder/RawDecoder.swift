import CLibRaw
public import CPictureDecoder
import Containers
import Glibc
import PictureDecoding
import PipelineModel

/// Decodes cameras' raw files: a preview in the file if there is one large enough, else developed.
enum RawDecoder: PictureDecoder {
  static func decode(
    _ request: DecoderRequest, isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedPicture {
    try reading(request.path, isCancelled) { file throws(DecoderError) in
      var picture = try decode(request, file, isCancelled)
      if picture.damage == nil, RawExtent.isCutShort(file) {
        picture.damage = "the file ends too early"
      }
      return (picture, isSound: picture.damage == nil)
    }
  }

  /// Opens a file for the time of a body, whose answer only counts if the kernel could read the file.
  private static func reading<Value>(
    _ path: String, _ isCancelled: () -> Bool,
    _ body: (RawFile) throws(DecoderError) -> (Value, isSound: Bool)
  ) throws(DecoderError) -> Value {
    let file = try RawFile(path: path)
    do throws(DecoderError) {
      let (value, isSound) = try body(file)
      try file.check(whole: !isSound, isCancelled: isCancelled)
      return value
    } catch {
      if error.code == .undecodable { try file.check(whole: true, isCancelled: isCancelled) }
      throw error
    }
  }

  private static func decode(
    _ request: DecoderRequest, _ file: RawFile, _ isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedPicture {
    var choice: PreviewChoice
    do throws(DecoderError) {
      choice = try RawImage.open(request.path, file, isCancelled: isCancelled) {
        image throws(DecoderError) in
        try PreviewChoice(image, file)
      }
    } catch {
      // Without LibRaw nothing tells the picture's shape; the largest preview has it.
      guard error.code == .undecodable, let only = PreviewChoice(unknownTo: file) else {
        throw error
      }
      choice = only
    }
    if let preview = choice.smallest(for: request.longest) { return preview.picture(in: file) }
    if isCancelled() { throw DecoderError(.cancelled, "The job was cancelled") }
    do throws(DecoderError) {
      return try develop(request, file, choice, isCancelled)
    } catch {
      guard error.code == .undecodable, var picture = choice.largest?.picture(in: file) else {
        throw error
      }
      // Of a camera that LibRaw does not know, this is all there is.
      if error.message != RawImage.unsupported { picture.damage = Self.clause(error.message) }
      return picture
    }
  }

  private static func develop(
    _ request: DecoderRequest, _ file: RawFile, _ choice: PreviewChoice,
    _ isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedPicture {
    let longer = max(choice.size.width, choice.size.height)
    let isHalfEnough = request.longest.map { $0 <= longer / 2 } ?? false
    // Opened anew: what told the size can't be developed any more.
    return try RawImage.open(request.path, file, isCancelled: isCancelled) {
      image throws(DecoderError) in
      var picture = try image.develop(halfSize: isHalfEnough)
      if image.hasBadData || image.isTooLong(for: file) {
        picture.damage = "the raw data are damaged"
      }
      return picture
    }
  }

  /// A sentence as a clause.
  private static func clause(_ message: String) -> String {
    message.prefix(1).lowercased() + message.dropFirst()
  }
}

extension RawDecoder {
  static func facts(
    _ request: DecoderRequest, isCancelled: () -> Bool
  ) throws(DecoderError) -> [String: JSONValue] {
    try reading(request.path, isCancelled) { file throws(DecoderError) in
      (try facts(request, file, isCancelled), isSound: true)
    }
  }

  private static func facts(
    _ request: DecoderRequest, _ file: RawFile, _ isCancelled: () -> Bool
  ) throws(DecoderError) -> [String: JSONValue] {
    do throws(DecoderError) {
      return try RawImage.open(request.path, file, isCancelled: isCancelled) {
        image throws(DecoderError) in
        try facts(image, file, longest: request.longest)
      }
    } catch {
      guard error.code == .undecodable, let choice = PreviewChoice(unknownTo: file) else {
        throw error
      }
      var facts = facts(choice, longest: request.longest)
      facts["decodeBytes"] = memory(sensor: 0, isMosaic: true, choice.largest)
      return facts
    }
  }

  private static func facts(
    _ image: RawImage, _ file: RawFile, longest: Int?
  ) throws(DecoderError) -> [String: JSONValue] {
    let (sensor, isMosaic) = (image.sensorPixels, image.isMosaic)
    let described = description(of: image)
    let choice = try PreviewChoice(image, file)
    var facts = facts(choice, longest: longest).merging(described) { $1 }
    facts["decodeBytes"] = memory(
      sensor: sensor, isMosaic: isMosaic, choice.smallest(for: longest))
    return facts
  }

  private static func facts(_ choice: PreviewChoice, longest: Int?) -> [String: JSONValue] {
    var facts: [String: JSONValue] = [
      "width": .integer(choice.size.width), "height": .integer(choice.size.height),
      "orientation": .integer(choice.orientation), "pages": 1, "alpha": false,
      "colorSpace": "srgb",
    ]
    // The preview that `decode` would take, or the one that thumbnails could be made of.
    if let preview = choice.smallest(for: longest) ?? choice.largest, preview.isAdobeRGB {
      facts["colorSpace"] = "adobe-rgb"
    }
    return facts
  }

  /// Camera, lens and depth, as far as LibRaw knows; exposure and time are other stages' facts.
  private static func description(of image: RawImage) -> [String: JSONValue] {
    var facts: [String: JSONValue] = [:]
    for (name, text) in [("make", image.make), ("model", image.model), ("lens", image.lens)]
    where !text.isEmpty && text != "N/A" { facts[name] = .string(text) }
    facts["bitDepth"] = image.bitDepth.map { .integer($0) }
    return facts
  }

  /// What decoding takes in bytes.
  ///
  /// A mosaic has two bytes a sensor value, then four colours of two bytes each for a pixel, and
  /// twice the three bytes of the result; half the size has a quarter of the pixels. Other kinds
  /// have eight bytes instead of two, and no half.
  private static func memory(
    sensor: Int, isMosaic: Bool, _ preview: PreviewChoice.Preview?
  ) -> JSONValue {
    let base = 20 << 20
    let whole = base + sensor * (isMosaic ? 17 : 23)
    let half = isMosaic ? base + sensor * 2 + sensor / 4 * 15 : whole
    // The JPEG's bytes and their copies, and what libjpeg decodes of it.
    let taken = preview.map { base + $0.length * 3 + $0.jpeg.width * $0.jpeg.height * 3 }
    return ["streamed": .integer(taken ?? half), "whole": .integer(max(taken ?? 0, whole))]
  }
}

/// The function that this library exports.
@c(picture_decoder_v1)
public func pictureDecoder() -> UnsafePointer<picture_decoder>? {
  exportDecoder(RawDecoder.self)
}
