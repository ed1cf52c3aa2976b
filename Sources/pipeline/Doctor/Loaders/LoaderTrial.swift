import Files
import PipelineModel
import PipelinePlugin
import PluginTesting

/// Runs the bundled plugins on small pictures.
struct LoaderTrial {
  let identify: PluginTrial
  let thumbnail: PluginTrial

  /// Checks whether a complete picture is identified and decoded.
  func decoding(of sample: LoaderSample) throws(FileError) -> Finding {
    let name = "decode \(sample.format)"
    let identified = try identify.run(sample.bytes).result
    guard case .done(let facts, _) = identified else {
      return Finding(name, .unknown, Self.reason(identified))
    }
    let type = facts["mediaType"]?.string ?? "nothing"
    guard type == sample.mediaType else {
      return Finding(
        name, .failed, "A picture of type \(sample.mediaType) was identified as \(type).",
        advice: "Reinstall libmagic1 and libmagic-mgc of this Debian release.")
    }
    let size = LoaderSample.size
    let result = try thumbnail.run(sample.bytes, facts: facts).result
    switch result {
    case .done(_, let renditions):
      guard let made = renditions.first, made.width == size.width, made.height == size.height
      else {
        return Finding(
          name, .failed, "A thumbnail's size differs from its picture's.", advice: Self.otherVips)
      }
      return Finding(name, .ok, "A picture was decoded in a worker.")
    case .failed(let failure) where failure.class == .transient:
      return Finding(name, .unknown, failure.reason)
    case .failed, .skipped:
      return Finding(
        name, .warning, Self.reason(result),
        advice: "Such files are kept but have no thumbnails; install \(sample.packages).")
    }
  }

  /// Checks whether a rotated picture comes out upright.
  ///
  /// Each of its blocks has a single colour, so JPEG keeps all pixels in any orientation.
  func orientation() throws(FileError) -> Finding {
    let name = "orientation"
    let facts = try self.facts(of: BuiltInSamples.turnedJPEG)
    let turned = try thumbnail.run(BuiltInSamples.turnedJPEG, facts: facts)
    let upright = try thumbnail.run(BuiltInSamples.uprightJPEG)
    guard case .done = turned.result, case .done = upright.result else {
      return Finding(
        name, .unknown, "No sample JPEG could be decoded.", advice: "See “decode jpeg”.")
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

  /// Checks whether a truncated picture is refused.
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
