public import CPipelinePlugin
import Containers
import PipelineModel
import PipelinePlugin

/// Copies the film of a Motion Photo out of its picture.
final class MotionPlugin: Plugin {
  static let manifest = PluginManifest(
    id: "motion", version: "1.0.0", outputVersion: 1,
    accepts: ["image/jpeg", "image/heic", "image/heif", "image/avif"], makesRenditions: true,
    renditions: ["film"], runtime: "built-in")

  init(options: NoOptions) {}

  func process(_ request: PluginRequest, host: PluginHost) throws(PluginFailure) -> PluginResult {
    let file: InputFile
    let found: (film: MotionPhoto, size: FilmSize?)?
    do throws(InputFile.Failure) {
      file = try InputFile(path: request.input)
      // Not by the fact of `identify`: the file may be a rendition of the picture.
      found = try file.withBytes { reader in
        MotionPhoto(reader, xmp: EmbeddedMetadata(reader).xmp)
          .map { ($0, FilmSize(reader, in: $0.range)) }
      }
    } catch {
      throw PluginFailure(.transient, error.message + ".")
    }
    guard let found else { return .skipped(reason: "The picture contains no film.") }
    guard let size = found.size else {
      return .skipped(reason: "The film in the picture has no pictures.")
    }
    let name = found.film.mediaType == "video/quicktime" ? "film.mov" : "film.mp4"
    try FilmCopy(file: file, range: found.film.range).write(
      to: "\(request.output)/\(name)", isCancelled: { host.isCancelled })
    return .done(renditions: [
      PluginRendition(
        name: "film", path: name, mediaType: found.film.mediaType, width: size.width,
        height: size.height)
    ])
  }
}

/// There are none.
struct NoOptions: Decodable {
  init(from decoder: any Decoder) throws { try decoder.refuseUnknownOptions(known: []) }
}

/// The function that this library exports.
@c(pipeline_plugin_v1)
public func pipelinePlugin(
  _ host: UnsafePointer<pipeline_host>?
) -> UnsafePointer<pipeline_plugin>? {
  exportPlugin(MotionPlugin.self, to: host)
}
