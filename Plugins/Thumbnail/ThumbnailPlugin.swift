public import CPipelinePlugin
import PictureDecoding
import PipelineModel
import PipelinePlugin
import Vips

/// Makes thumbnails of pictures.
final class ThumbnailPlugin: Plugin {
  static let manifest = PluginManifest(
    id: "thumbnail", version: "1.7.0", outputVersion: 5, scope: .original,
    options: ThumbnailOptions.schema,
    accepts: DecoderTable.present.flatMap(\.types),
    lacks: DecoderTable.lacks.map { .init(accepts: $0.types, reason: $0.reason) },
    facts: ["damage", "sprites"] + Placeholder.names, makesRenditions: true,
    renditions: ["/sizes/*/name"], parts: .init(option: "sizes", facts: ["sprites"], kept: true),
    estimates: true,
    runtime: DecoderTable.runtime(VipsLibrary.runtime))

  private let options: ThumbnailOptions
  private let resamplers = PlaneResamplers()

  init(options: ThumbnailOptions) throws(PluginFailure) {
    self.options = options
    do throws(VipsError) {
      try VipsLibrary.start()
    } catch {
      throw PluginFailure(error)
    }
  }

  /// Memory for decoding, and for the thumbnails, which are turned and encoded in memory.
  func estimate(facts: [String: JSONValue]) -> Int? {
    guard let identified = facts["identify"], let needs = Self.decodeBytes(identified),
      let streamed = needs["streamed"]?.integer
    else { return nil }
    let decoding: Int
    if options.longest > Self.common || options.region != nil {
      // Decoders of films and raw files say by `streamed` what a picture of common size takes.
      let whole = isByLibvips(identified) ? 0 : needs["whole"]?.integer ?? 0
      decoding = max(streamed, whole)
    } else {
      decoding = needs["reduced"]?.integer ?? streamed
    }
    // The picture is turned when it is small, so decoding streams whatever the orientation; for
    // formats that can't stream, the figure says so.
    let longer = max(identified["width"]?.integer ?? 0, identified["height"]?.integer ?? 0)
    // An exact size may be larger than the picture.
    let exact = options.sizes.compactMap { $0.finish.exact?.longest }.max() ?? 0
    let side = max(exact, min(options.longest, max(longer, 1)))
    let planes = options.scaling == .fast ? PlaneReduction.mostBytes(toReach: side) : 0
    return decoding + planes + 4 * 4 * side * side + frameBytes(identified, longer: longer)
  }

  /// What the frames of an animated picture or of a film take; one size is made at a time.
  private func frameBytes(_ identified: JSONValue, longer: Int) -> Int {
    let isFilm = identified["videoCodec"] != nil
    let pages = identified["pages"]?.integer ?? 1
    let sizes = options.sizes.map { size in
      let side = min(size.maxPixelSize, max(longer, 1))
      if let sprites = size.sprites {
        return isFilm ? SpriteSheet.bytes(frames: sprites, side: side) : 0
      }
      guard size.isAnimated else { return 0 }
      return isFilm
        ? Animation.bytesOfFilm(side: side) : Animation.bytes(frames: pages, side: side)
    }
    return sizes.max() ?? 0
  }

  /// What `identify` says that decoding takes; for the rendition of another stage, of which only the size is
  /// known, all pixels.
  private static func decodeBytes(_ identified: JSONValue) -> JSONValue? {
    if let stated = identified["decodeBytes"] { return stated }
    guard let width = identified["width"]?.integer, let height = identified["height"]?.integer
    else { return nil }
    // Bounded, so that the product does not overflow.
    let bytes = 4 * max(0, min(width, 1 << 28)) * max(0, min(height, 1 << 28))
    return ["streamed": .integer(bytes), "whole": .integer(bytes)]
  }

  /// The longer side up to which decoders may take a preview, or half the pixels.
  private static let common = 1024

  private func isByLibvips(_ identified: JSONValue) -> Bool {
    let type = MediaType(rawValue: identified["mediaType"]?.string ?? "")
    return DecoderTable.entry(for: type)?.decoder == .libvips
  }

  func process(_ request: PluginRequest, host: PluginHost) throws(PluginFailure) -> PluginResult {
    defer { VipsLibrary.endJob() }
    let output = OutputFolder(request.output)
    do throws(VipsError) {
      if let source = KeptSource(request, options),
        let made = try make(of: source, request, host, into: output)
      {
        return .done(renditions: source.described(made))
      }
      let identified = request.facts["identify"]
      let sides = [identified?["width"]?.integer, identified?["height"]?.integer]
      let job = ThumbnailJob(
        options: wanted(by: request), resamplers: resamplers, host: host,
        identifiedSide: sides.compactMap(\.self).max(), shape: nil)
      let made = try job.run(request.input, of: Self.type(request), into: output)
      return .done(facts: .object(made.facts), renditions: made.renditions)
    } catch {
      output.removeAll()
      if error.code == .absent { return .skipped(reason: error.message + ".") }
      throw PluginFailure(error)
    }
  }
}

extension ThumbnailPlugin {
  /// The options with the sizes that are to be made.
  private func wanted(by request: PluginRequest) -> ThumbnailOptions {
    guard let wanted = request.wanted else { return options }
    var options = options
    options.sizes.removeAll { !wanted.contains($0.name) }
    return options
  }

  /// Makes the wanted sizes of a kept thumbnail.
  ///
  /// - Returns: `nil` if it can't be decoded; the original may be.
  private func make(
    of source: KeptSource, _ request: PluginRequest, _ host: PluginHost, into output: OutputFolder
  ) throws(VipsError) -> [PluginRendition]? {
    let job = ThumbnailJob(
      options: wanted(by: request), resamplers: resamplers, host: host, identifiedSide: nil,
      shape: source.shape(of: request.facts["identify"]))
    do throws(VipsError) {
      return try job.run(source.kept.path, of: source.type, into: output).renditions
    } catch {
      output.removeAll()
      // The disk may be full, which the original would not help.
      if [.cancelled, .inputOutput].contains(error.code) { throw error }
      return nil
    }
  }

  /// The type that the identifying stage found; a file that it knows nothing of is refused by its content.
  private static func type(_ request: PluginRequest) -> MediaType {
    request.facts["identify"]?["mediaType"]?.string.map { MediaType(rawValue: $0) } ?? .unknown
  }
}

extension PluginFailure {
  /// Maps an error's code to a failure class.
  init(_ error: VipsError) {
    let reason = error.message + "."
    switch error.code {
    case .undecodable, .absent, .tooLarge: self.init(.permanent, reason)
    case .inputOutput, .cancelled: self.init(.transient, reason)
    case .outOfMemory: self = .outOfMemory(reason)
    case .missing: self.init(.environment, reason)
    }
  }
}

/// The function that this library exports.
@c(pipeline_plugin_v1)
public func pipelinePlugin(
  _ host: UnsafePointer<pipeline_host>?
) -> UnsafePointer<pipeline_plugin>? {
  exportPlugin(ThumbnailPlugin.self, to: host)
}
