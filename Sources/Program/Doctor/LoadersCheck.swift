import Files
import PipelineModel
import PipelinePlugin
import PluginTesting

/// Checks whether the bundled plugins decode complete pictures and refuse truncated ones.
struct LoadersCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    do throws(PluginFailure) {
      let identify = try PluginTrial("identify", options: [:], on: site)
      defer { identify.end() }
      // A picture that fits is not resampled, so its pixels can be compared.
      let thumbnail = try PluginTrial(
        "thumbnail", options: ["sizes": [["name": "all", "maxPixelSize": 64]]], on: site)
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

/// A small picture in one format and the packages that decode it.
struct LoaderSample {
  let format: String
  let mediaType: String
  let bytes: [UInt8]
  /// The Debian packages that decode it.
  let packages: String

  /// The size of every sample, in pixels.
  static let size = (width: 24, height: 16)

  /// One sample per format.
  static let all = [
    LoaderSample(
      format: "jpeg", mediaType: "image/jpeg", bytes: BuiltInSamples.jpeg,
      packages: "libvips42 with libjpeg62-turbo"),
    LoaderSample(
      format: "png", mediaType: "image/png", bytes: BuiltInSamples.png,
      packages: "libvips42 with libpng16-16"),
    LoaderSample(
      format: "webp", mediaType: "image/webp", bytes: BuiltInSamples.webp,
      packages: "libvips42 with libwebp7, libwebpdemux2 and libwebpmux3"),
    LoaderSample(
      format: "gif", mediaType: "image/gif", bytes: BuiltInSamples.gif,
      packages: "libvips42, which decodes it by itself"),
    LoaderSample(
      format: "tiff", mediaType: "image/tiff", bytes: BuiltInSamples.tiff,
      packages: "libvips42 with libtiff6"),
    LoaderSample(
      format: "heic", mediaType: "image/heic", bytes: BuiltInSamples.heic,
      packages: "libheif1 with libde265-0 (since Debian 13 libheif-plugin-libde265)"),
    LoaderSample(
      format: "avif", mediaType: "image/avif", bytes: BuiltInSamples.avif,
      packages: "libheif1 with libdav1d6 or libaom3 (since Debian 13 libheif-plugin-dav1d)"),
  ]

  /// A JPEG with a complete header that ends in the middle of its pixels.
  static var cutJPEG: [UInt8] {
    let whole = BuiltInSamples.uprightJPEG
    // The pixels follow the marker “start of scan”. Source: ITU-T T.81, B.1.1.3.
    let marker = whole.indices.last { whole[$0...].starts(with: [0xFF, 0xDA]) } ?? whole.count / 2
    return Array(whole.prefix((marker + whole.count) / 2))
  }

  /// A PNG with a complete header that ends in the middle of its pixels.
  static var cutPNG: [UInt8] {
    let whole = BuiltInSamples.png
    let chunk = Array("IDAT".utf8)
    let start = whole.indices.first { whole[$0...].starts(with: chunk) } ?? whole.count / 2
    return Array(whole.prefix((start + whole.count) / 2))
  }
}
