public import CPipelinePlugin
import Containers
import PictureDecoding
import PipelineModel
import PipelinePlugin
import Vips

/// Identifies a file by its content, without decoding its picture.
///
/// Malformed content is not a failure: what can't be read is left out, and `problem` says why. A
/// job fails only if the kernel can't read the file.
final class IdentifyPlugin: Plugin {
  static let manifest = PluginManifest(
    id: "identify", version: "1.3.0", outputVersion: 5, scope: .original,
    options: IdentifyOptions.schema, assetOptions: ["capturedFromName"],
    facts: [
      "mediaType", "width", "height", "orientation", "capturedAt", "capturedFrom", "colorSpace",
      "iccProfile", "pages", "bitDepth", "alpha", "decodeBytes", "problem", "duration", "frameRate",
      "rotation", "hdr", "videoCodec", "audioCodec", "container", "streams", "creationTime",
      "location", "make", "model", "lens", "title", "artist", "album", "motionPhoto",
      "pictures",
    ],
    estimates: true,
    runtime: "libmagic \(TypeSniffer.version), \(DecoderTable.runtime(VipsLibrary.runtime))")

  private let sniffer: TypeSniffer
  private let options: IdentifyOptions

  init(options: IdentifyOptions) throws(PluginFailure) {
    self.options = options
    sniffer = try TypeSniffer()
    do throws(VipsError) {
      try VipsLibrary.start()
    } catch {
      throw PluginFailure(.environment, error.message + ".")
    }
  }

  /// What libav takes to be loaded and to look at a film, which is the most of all kinds. What the file
  /// is turns out only then.
  func estimate(facts: [String: JSONValue]) -> Int? { 64 << 20 }

  func process(_ request: PluginRequest, host: PluginHost) throws(PluginFailure) -> PluginResult {
    defer { VipsLibrary.endJob() }
    do throws(VipsError) {
      return .done(
        facts: .object(
          try facts(of: request.input, name: request.asset.name, host)))
    } catch {
      let reason = error.message + "."
      switch error.code {
      case .missing: throw PluginFailure(.environment, reason)
      case .outOfMemory: throw PluginFailure.outOfMemory(reason)
      default: throw PluginFailure(.transient, reason)
      }
    }
  }

  private func facts(
    of path: String, name: String, _ host: PluginHost
  ) throws(VipsError) -> [String: JSONValue] {
    let file = try PictureFile(path: path)
    let head = try file.read(at: 0, count: TypeSniffer.headLength)
    let type = try FileType(head: head, file: file, sniffed: sniffer.type(of: head)).mediaType
    let embedded = try file.withBytes { EmbeddedMetadata($0) }
    var exif = embedded.exif.map { ExifBlock($0) }
    var facts: [String: JSONValue] = ["mediaType": .string(type.rawValue)]
    if FileType.isRaw(type) {
      facts.merge(try RawFacts.read(file, exif)) { $1 }
    } else {
      facts.merge(PlainHeaders.read(type, head: head, embedded)) { $1 }
    }
    if let entry = DecoderTable.entry(for: type) {
      if let seconds = entry.mostCPU { host.limitCPU(seconds: seconds) }
      if let refusal = entry.refusal(ofBytes: file.size) {
        facts["problem"] = .string(refusal + ".")
      } else {
        let decoder = try file.withBytes(entry.decoder(of:))
        let more =
          switch decoder {
          case .libvips: try PictureFacts.read(file, embedded, &exif)
          case .library(let name):
            try DecoderFacts.read(path, type, by: name) { host.isCancelled }
          }
        facts.merge(more) { $1 }
      }
    }
    if let film = try file.withBytes({ MotionPhoto($0, xmp: embedded.xmp) }) {
      facts["motionPhoto"] = [
        "offset": .integer(film.range.lowerBound), "length": .integer(film.range.count),
        "mediaType": .string(film.mediaType),
      ]
    }
    facts["pictures"] = embedded.pictures.map { .integer($0) }
    let named = options.capturedFromName.lazy.compactMap { $0.date(in: name) }
      .first { WrittenMoment($0) != nil }
    if let time = CaptureTime(
      embedded, exif, container: facts["creationTime"]?.string, name: named)
    {
      facts["capturedAt"] = .string(time.text)
      facts["capturedFrom"] = .string(time.source)
    }
    return facts
  }
}

/// The function that this library exports.
@c(pipeline_plugin_v1)
public func pipelinePlugin(
  _ host: UnsafePointer<pipeline_host>?
) -> UnsafePointer<pipeline_plugin>? {
  exportPlugin(IdentifyPlugin.self, to: host)
}

/// The options of the identifying stage.
struct IdentifyOptions: Hashable, Sendable {
  /// File name patterns that contain the capture date; none by default.
  var capturedFromName: [NamePattern] = []

  static let schema: JSONValue = [
    "type": "object",
    "additionalProperties": false,
    "properties": [
      "capturedFromName": [
        "type": "array", "maxItems": 100, "uniqueItems": true,
        "items": ["type": "string", "minLength": 1, "maxLength": 255],
        "default": [],
        "description": """
        File name patterns that contain the capture date, for files without one of their own: \
        IMG_{yyyy}{MM}{dd}_{HH}{mm}{ss}*. A star matches anything, ? one character. Assets with \
        the same bytes then don't share results.
        """,
      ]
    ],
  ]
}

extension IdentifyOptions: Decodable {
  private enum Key: String, CodingKey, CaseIterable { case capturedFromName }

  init(from decoder: any Decoder) throws {
    try decoder.refuseUnknownOptions(known: Key.allCases.map(\.rawValue))
    let values = try decoder.container(keyedBy: Key.self)
    for text in try values.decodeIfPresent([String].self, forKey: .capturedFromName) ?? [] {
      guard let pattern = NamePattern(text) else {
        throw DecodingError.dataCorruptedError(
          forKey: .capturedFromName, in: values,
          debugDescription: """
            capturedFromName must contain {yyyy}, {MM} and {dd}, and may contain {HH}, {mm} and \
            {ss}, each at most once, which “\(text)” does not
            """)
      }
      capturedFromName.append(pattern)
    }
  }
}
