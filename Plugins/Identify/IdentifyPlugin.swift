public import CPipelinePlugin
import Containers
import PipelineModel
import PipelinePlugin
import Vips

/// Identifies a file by its content, without decoding a pixel.
///
/// Malformed content is not a failure: what can't be read is left out, and `problem` says why. A
/// job fails only if the kernel can't read the file.
final class IdentifyPlugin: Plugin {
  static let manifest = PluginManifest(
    id: "identify", version: "1.0.0", outputVersion: 2, scope: .original,
    options: IdentifyOptions.schema, assetOptions: ["capturedFromName"],
    facts: [
      "mediaType", "width", "height", "orientation", "capturedAt", "capturedFrom", "colorSpace",
      "iccProfile", "pages", "bitDepth", "alpha", "decodeBytes", "problem",
    ],
    estimates: true, runtime: "libmagic \(TypeSniffer.version), \(VipsLibrary.runtime)")

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

  /// Reads only headers, whatever the file is.
  func estimate(facts: [String: JSONValue]) -> Int? { 8 << 20 }

  func process(_ request: PluginRequest, host: PluginHost) throws(PluginFailure) -> PluginResult {
    defer { VipsLibrary.endJob() }
    do throws(VipsError) {
      let file = try PictureFile(path: request.input)
      return .done(facts: .object(try facts(of: file, name: request.asset.name)))
    } catch {
      throw PluginFailure(error.code == .missing ? .environment : .transient, error.message + ".")
    }
  }

  private func facts(of file: PictureFile, name: String) throws(VipsError) -> [String: JSONValue] {
    let head = try file.read(at: 0, count: TypeSniffer.headLength)
    let type = try FileType(head: head, file: file, sniffed: sniffer.type(of: head)).mediaType
    let embedded = try file.withBytes { EmbeddedMetadata($0) }
    var exif = embedded.exif.map { ExifBlock($0) }
    var facts: [String: JSONValue] = ["mediaType": .string(type.rawValue)]
    let more: [String: JSONValue]
    switch type.rawValue {
    case "image/jpeg", "image/png", "image/webp", "image/gif", "image/tiff", "image/avif",
      "image/heic", "image/heif", "image/heic-sequence", "image/heif-sequence":
      more = try PictureFacts.read(file, embedded, &exif)
    case _ where FileType.isRaw(type):
      more = try RawFacts.read(file, exif)
    default:
      more = PlainHeaders.read(type, head: head, embedded)
    }
    facts.merge(more) { $1 }
    let named = options.capturedFromName.lazy.compactMap { $0.date(in: name) }
      .first { WrittenMoment($0) != nil }
    if let time = CaptureTime(embedded, exif, name: named) {
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
