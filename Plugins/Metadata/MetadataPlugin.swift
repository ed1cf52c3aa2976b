public import CPipelinePlugin
import Containers
import PipelineModel
import PipelinePlugin

/// Reads a picture's metadata: EXIF, IPTC, XMP, the place and texts.
///
/// Never reads pixels. A value or part that can't be read is left out, and `problem` says why. If
/// nothing can be read, the job fails, so that `pipeline failed` lists it and a newer exiv2 retries
/// it.
final class MetadataPlugin: Plugin {
  static let manifest = PluginManifest(
    id: "metadata", version: "1.0.0", outputVersion: 4, scope: .original,
    options: MetadataOptions.schema, accepts: kinds,
    facts: [
      "exif", "iptc", "xmp", "gps", "text", "contentIdentifier", "burstIdentifier", "problem",
      "leftOut",
    ],
    runtime: MetadataLibrary.runtime)

  /// The media types whose metadata is read.
  ///
  /// Exiv2 distinguishes types only by their first bytes, and mistakes an SVG or an icon for a
  /// damaged file of another type. Source: exiv2's table of supported formats. XMP in GIFs and
  /// sidecars is found without exiv2.
  private static let kinds = [
    "image/jpeg", "image/png", "image/webp", "image/tiff", "image/heic", "image/heif",
    "image/heic-sequence", "image/heif-sequence", "image/avif",
    "image/avif-sequence", "image/jxl", "image/jp2",
    "image/jpx", "image/gif", "application/rdf+xml",
    "image/vnd.adobe.photoshop", "image/x-adobe-dng", "image/x-canon-cr2", "image/x-canon-cr3",
    "image/x-canon-crw", "image/x-epson-erf", "image/x-fuji-raf", "image/x-hasselblad-3fr",
    "image/x-kodak-dcr", "image/x-leaf-mos", "image/x-mamiya-mef", "image/x-minolta-mrw",
    "image/x-nikon-nef", "image/x-olympus-orf", "image/x-panasonic-rw2", "image/x-pentax-pef",
    "image/x-phaseone-iiq", "image/x-raw", "image/x-samsung-srw", "image/x-sony-arw",
    "video/quicktime", "video/mp4",
  ]

  private enum Outcome: Sendable {
    case read([String: JSONValue])
    case refused(MetadataFile.Refusal)
  }

  private let families: Set<MetadataOptions.Family>

  init(options: MetadataOptions) throws(PluginFailure) {
    families = options.families
    try MetadataLibrary.start()
  }

  func process(_ request: PluginRequest, host: PluginHost) throws(PluginFailure) -> PluginResult {
    let (path, families) = (request.input, families)
    let embedded: EmbeddedMetadata
    do throws(InputFile.Failure) {
      // Here, because exiv2 distinguishes open errors from damage only in its message text.
      embedded = try InputFile(path: path).withBytes { EmbeddedMetadata($0) }
    } catch {
      throw PluginFailure(.transient, error.message + ".")
    }
    switch MetadataLibrary.use({ errors in Self.read(path, embedded, families, errors) }) {
    case .read(let facts): return .done(facts: .object(facts))
    case .refused(.unknownKind):
      return .skipped(reason: "exiv2 reads no metadata from files of this type.")
    case .refused(.damaged(let words)):
      throw PluginFailure(.permanent, "The metadata can't be read: \(Self.sentence(words))")
    }
  }

  private static func read(
    _ path: String, _ embedded: EmbeddedMetadata, _ families: Set<MetadataOptions.Family>,
    _ errors: () -> [String]
  ) -> Outcome {
    let files: MetadataFiles
    do throws(MetadataFile.Refusal) {
      files = try MetadataFiles(path: path, embedded: embedded)
    } catch {
      return .refused(error)
    }
    var limits = FactLimits()
    var problems = errors().filter(concernsPicture).prefix(1).map {
      "A part can't be read: \(sentence($0))"
    }
    if case .damaged(let words)? = files.refusal {
      problems = ["The file can't be read as a whole, but part by part: \(sentence(words))"]
    }
    var facts: [String: JSONValue] = [:]
    // The place first and XMP last, because XMP can have any number of names.
    if families.contains(.gps), let file = files[.exif] {
      facts["gps"] = .object(GPSFacts.read(file, &limits) { problems.append($0) })
    }
    if families.contains(.exif), let file = files[.exif] {
      facts["exif"] = .object(ExifFacts.read(file, &limits))
    }
    if families.contains(.iptc), let file = files[.iptc] {
      facts["iptc"] = .object(IPTCFacts.read(file, &limits))
    }
    if families.contains(.text) { facts["text"] = .object(TextFacts.read(embedded.texts, &limits)) }
    if families.contains(.xmp), let file = files[.xmp] {
      let places = families.contains(.gps)
      facts["xmp"] = .object(XMPFacts.read(file, places: places, &limits))
    }
    facts = facts.filter { $0.value != .object([:]) }
    facts["contentIdentifier"] = identifier(embedded.contentIdentifier).map { .string($0) }
    facts["burstIdentifier"] = identifier(embedded.exif?.burstIdentifier).map { .string($0) }
    if limits.left > 0 { facts["leftOut"] = .integer(limits.left) }
    if !problems.isEmpty { facts["problem"] = .string(problems.joined(separator: " ")) }
    return .read(facts)
  }

  /// An identifier as Apple writes it, a UUID; `nil` if it is none.
  private static func identifier(_ text: String?) -> String? {
    guard let text else { return nil }
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12],
      groups.joined().utf8.allSatisfy({ "0123456789abcdefABCDEF".utf8.contains($0) }),
      // Zeros stand for none.
      text.utf8.contains(where: { !"0-".utf8.contains($0) })
    else { return nil }
    return text.uppercased()
  }

  /// Whether a library message concerns metadata that is read here; makers' notes are not.
  private static func concernsPicture(_ message: String) -> Bool {
    // A missing end mark in a chain of directories loses nothing.
    guard !message.contains("ext pointer") else { return false }
    guard let directory = message.split(separator: "irectory ").dropFirst().first else {
      return true
    }
    let name = directory.prefix { $0.isLetter || $0.isNumber }
    return ["Image", "Photo", "GPSInfo", "Iop"].contains(name)
  }

  /// The library's message as one line with a full stop.
  private static func sentence(_ words: String) -> String {
    let text = TagText.decode(Array(words.utf8)) ?? "no reason given"
    let line = text.split { $0.isNewline }.joined(separator: " ").prefix(250)
    return line.hasSuffix(".") ? String(line) : line + "."
  }
}

/// The function that this library exports.
@c(pipeline_plugin_v1)
public func pipelinePlugin(
  _ host: UnsafePointer<pipeline_host>?
) -> UnsafePointer<pipeline_plugin>? {
  exportPlugin(MetadataPlugin.self, to: host)
}

/// The options of a metadata stage.
struct MetadataOptions: Hashable, Sendable {
  /// A kind of metadata; also the name of its fact.
  enum Family: String, CaseIterable, Decodable { case exif, iptc, xmp, gps, text }

  /// The kinds to read; all by default.
  var families = Set(Family.allCases)

  static let schema: JSONValue = [
    "type": "object",
    "additionalProperties": false,
    "properties": [
      "families": [
        "type": "array", "minItems": 1, "uniqueItems": true,
        "items": ["enum": .array(names)],
        "default": .array(names),
        "description": """
        The kinds of metadata to record. Without gps, coordinates are left out, even where XMP \
        repeats them.
        """,
      ]
    ],
  ]

  private static let names: [JSONValue] = Family.allCases.map { .string($0.rawValue) }
}

extension MetadataOptions: Decodable {
  private enum Key: String, CodingKey, CaseIterable { case families }

  init(from decoder: any Decoder) throws {
    try decoder.refuseUnknownOptions(known: Key.allCases.map(\.rawValue))
    let values = try decoder.container(keyedBy: Key.self)
    guard values.contains(.families) else { return }
    let chosen = try values.decode([Family].self, forKey: .families)
    families = Set(chosen)
    guard !chosen.isEmpty, families.count == chosen.count else {
      throw DecodingError.dataCorruptedError(
        forKey: .families, in: values,
        debugDescription: "families must name at least one family, and none twice")
    }
  }
}
