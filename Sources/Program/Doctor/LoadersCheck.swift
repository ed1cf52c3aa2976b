import Files
import PipelineModel
import PipelinePlugin
import PluginTesting

/// Checks whether the bundled plugins decode complete files of each kind and refuse truncated ones.
struct LoadersCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    do throws(PluginFailure) {
      let identify = try PluginTrial("identify", options: [:], on: site)
      defer { identify.end() }
      // A picture that fits is not resampled, so its pixels can be compared.
      let thumbnail = try PluginTrial(
        "thumbnail",
        options: ["sizes": [["name": "all", "maxPixelSize": .integer(LoaderTrial.longest)]]],
        on: site)
      defer { thumbnail.end() }
      return findings(LoaderTrial(identify: identify, thumbnail: thumbnail))
    } catch {
      return [
        Finding(
          "decode", .unknown, "No sample picture could be decoded. \(error.reason)",
          advice: "The plugins `identify` and `thumbnail` come with the program: reinstall it.")
      ]
    }
  }

  private func findings(_ trial: LoaderTrial) -> [Finding] {
    do throws(FileError) {
      let decoded = try LoaderSample.all.map(trial.decoding)
      return try decoded + [
        trial.orientation(), trial.refusal(of: LoaderSample.cutJPEG, "JPEG"),
        trial.refusal(of: LoaderSample.cutPNG, "PNG"),
      ]
    } catch {
      return [Finding("decode", .unknown, error.message)]
    }
  }
}

/// Runs the bundled plugins on small pictures.
struct LoaderTrial {
  let identify: PluginTrial
  let thumbnail: PluginTrial

  /// The most pixels on a side of a thumbnail.
  static let longest = 64

  /// Checks whether a complete file is identified and decoded.
  func decoding(of sample: LoaderSample) throws(FileError) -> Finding {
    let name = "decode \(sample.format)"
    let identified = try identify.run(sample.bytes).result
    guard case .done(let facts, _) = identified else {
      return Finding(name, .unknown, Self.reason(identified))
    }
    let type = facts["mediaType"]?.string ?? "nothing"
    guard sample.types.contains(type) else {
      return Finding(
        name, .failed, "A file of type \(sample.types[0]) was identified as \(type).",
        advice: "Reinstall libmagic1 and libmagic-mgc of this Debian release.")
    }
    if case .builtIn(let decoder) = sample.decoder, thumbnail.lacks(decoder: decoder.name) {
      return Finding(
        name, .warning, "The decoder of \(decoder.kinds) was left out when the program was built.",
        advice: "Such files are kept but have no thumbnails; install \(decoder.buildPackages), "
          + "and build and install the program again.")
    }
    let result = try thumbnail.run(sample.bytes, facts: facts).result
    switch result {
    case .done(_, let renditions):
      guard let made = renditions.first,
        sample.size.matches(width: made.width, height: made.height, longest: Self.longest)
      else {
        return Finding(
          name, .failed, "A thumbnail's size differs from its picture's.",
          advice: sample.decoder.otherVersion)
      }
      return Finding(name, .ok, "A sample was decoded in a worker.")
    case .failed(let failure) where failure.class == .transient:
      return Finding(name, .unknown, failure.reason)
    case .failed, .skipped:
      return Finding(
        name, .warning, Self.reason(result),
        advice: "Such files are kept but have no thumbnails; install \(sample.decoder.packages).")
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
        advice: LoaderSample.Decoder.otherVips)
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
        name, .failed, "A thumbnail was made from half a \(format).",
        advice: LoaderSample.Decoder.otherVips)
    case .failed(let failure) where failure.class == .permanent:
      return Finding(name, .ok, "Half a \(format) is refused.")
    case .failed, .skipped:
      return Finding(name, .unknown, Self.reason(result))
    }
  }

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
