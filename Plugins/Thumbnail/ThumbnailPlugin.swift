public import CPipelinePlugin
import PipelineModel
import PipelinePlugin
import Vips

/// Makes thumbnails of pictures.
final class ThumbnailPlugin: Plugin {
  static let manifest = PluginManifest(
    id: "thumbnail", version: "1.3.0", outputVersion: 3, scope: .original,
    options: ThumbnailOptions.schema,
    accepts: [
      "image/jpeg", "image/png", "image/webp", "image/gif", "image/tiff", "image/heic",
      "image/heif", "image/heic-sequence", "image/heif-sequence", "image/avif",
    ],
    facts: ["damage"], makesRenditions: true, estimates: true, runtime: VipsLibrary.runtime)

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
    guard let identified = facts["identify"], let needs = identified["decodeBytes"],
      let streamed = needs["streamed"]?.integer
    else { return nil }
    // The picture is turned when it is small, so decoding streams whatever the orientation; for
    // formats that can't stream, the figure says so.
    let largest = options.sizes.map(\.maxPixelSize).max() ?? 0
    let longer = max(identified["width"]?.integer ?? 0, identified["height"]?.integer ?? 0)
    let side = min(largest, max(longer, 1))
    let planes = options.scaling == .fast ? PlaneReduction.mostBytes(toReach: side) : 0
    return streamed + planes + 4 * 4 * side * side
  }

  func process(_ request: PluginRequest, host: PluginHost) throws(PluginFailure) -> PluginResult {
    defer { VipsLibrary.endJob() }
    let output = OutputFolder(request.output)
    do throws(VipsError) {
      let file = try PictureFile(path: request.input)
      let job = ThumbnailJob(options: options, resamplers: resamplers, host: host)
      let made = try job.run(file, into: output)
      let facts: [String: JSONValue] = made.damage.map { ["damage": .string($0 + ".")] } ?? [:]
      return .done(facts: .object(facts), renditions: made.renditions)
    } catch {
      output.removeAll()
      throw PluginFailure(error)
    }
  }
}

extension PluginFailure {
  /// Maps an error's code to a failure class.
  init(_ error: VipsError) {
    let kind: Class =
      switch error.code {
      case .undecodable, .tooLarge: .permanent
      case .inputOutput, .cancelled: .transient
      case .missing: .environment
      }
    self.init(kind, error.message + ".")
  }
}

/// The function that this library exports.
@c(pipeline_plugin_v1)
public func pipelinePlugin(
  _ host: UnsafePointer<pipeline_host>?
) -> UnsafePointer<pipeline_plugin>? {
  exportPlugin(ThumbnailPlugin.self, to: host)
}
