import Files
import PipelineModel
import PipelinePlugin
import PluginTesting

/// What comes of small pictures in the bundled plugins.
struct LoaderTrial {
  let identify: PluginTrial
  let thumbnail: PluginTrial

  /// Whether a whole picture is known for what it is, and decoded.
  func decoding(of sample: LoaderSample) throws(FileError) -> Finding {
    let name = "decode \(sample.format)"
    let identified = try identify.run(sample.bytes).result
    guard case .done(let facts, _) = identified else {
      return Finding(name, .unknown, Self.reason(identified))
    }
    let type = facts["mediaType"]?.string ?? "nothing"
    guard type == sample.mediaType else {
      return Finding(
        name, .failed, "A picture of type \(sample.mediaType) is taken for \(type).",
        advice: "Install libmagic1 and libmagic-mgc of this Debian again.")
    }
    let size = LoaderSample.size
    let result = try thumbnail.run(sample.bytes, facts: facts).result
    switch result {
    case .done(_, let renditions):
      guard let made = renditions.first, made.width == size.width, made.height == size.height
      else {
        return Finding(
          name, .failed, "A thumbnail has another size than its picture.", advice: Self.otherVips)
      }
      return Finding(name, .ok, "A picture was decoded in a worker.")
    case .failed(let failure) where failure.class == .transient:
      return Finding(name, .unknown, failure.reason)
    case .failed, .skipped:
      return Finding(
        name, .warning, Self.reason(result),
        advice: "Such files are kept, and have no thumbnails; install \(sample.packages).")
    }
  }

  /// Whether a picture that lies on its side comes out upright.
  ///
  /// Its blocks have one colour each, so that JPEG keeps all pixels, whichever way they lie.
  func orientation() throws(FileError) -> Finding {
    let name = "orientation"
    let facts = try self.facts(of: BuiltInSamples.turnedJPEG)
    let turned = try thumbnail.run(BuiltInSamples.turnedJPEG, facts: facts)
    let upright = try thumbnail.run(BuiltInSamples.uprightJPEG)
    guard case .done = turned.result, case .done = upright.result else {
      return Finding(
        name, .unknown, "No JPEG could be decoded for trial.", advice: "See “decode jpeg”.")
    }
    guard facts["orientation"]?.integer == 6, facts["width"]?.integer == 16,
      facts["height"]?.integer == 24, turned.rendition == upright.rendition
    else {
      return Finding(
        name, .failed, "A JPEG with the EXIF orientation 6 does not come out upright.",
        advice: Self.otherVips)
    }
    return Finding(name, .ok, "A JPEG with the EXIF orientation 6 comes out upright.")
  }

  /// Whether half a picture is refused.
  func refusal(of bytes: [UInt8], _ format: String) throws(FileError) -> Finding {
    let name = "cut \(format.lowercased())"
    let facts = try self.facts(of: bytes)
    let result = try thumbnail.run(bytes, facts: facts).result
    switch result {
    case .done:
      return Finding(
        name, .failed, "A thumbnail was made from half a \(format).", advice: Self.otherVips)
    case .failed(let failure) where failure.class == .permanent:
      return Finding(name, .ok, "Half a \(format) is refused.")
    case .failed, .skipped:
      return Finding(name, .unknown, Self.reason(result))
    }
  }

  private static let otherVips =
    "Use another version of libvips; Debian 12 has 8.14.1, which passes."

  /// Why there is no result.
  private static func reason(_ result: PluginResult) -> String {
    switch result {
    case .done: "It is done."
    case .skipped(let reason): reason
    case .failed(let failure): failure.reason
    }
  }

  private func facts(of bytes: [UInt8]) throws(FileError) -> JSONValue {
    guard case .done(let facts, _) = try identify.run(bytes).result else { return [:] }
    return facts
  }
}
