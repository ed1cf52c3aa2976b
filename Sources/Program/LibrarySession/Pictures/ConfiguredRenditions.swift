package import Configuration
import Engine
import PipelineModel
package import Records

/// What renditions show of their originals, as far as the configuration of their stages tells.
///
/// One rule for those that stand for an asset in a gallery and those that other pictures are made of.
package struct ConfiguredRenditions: Hashable, Codable, Sendable {
  package enum Content: String, Codable, Sendable {
    /// The whole picture as it is: upright and still.
    case picture
    /// The whole picture, but perhaps animated.
    case animation
    /// Whatever a program, another plugin or another stage's rendition shows.
    case unknown
    /// Only a part, or the picture turned, mirrored, stretched or without its colours.
    case altered
  }

  private struct Stage: Hashable, Codable {
    /// What its renditions show, except for those in `others`.
    var content: Content
    /// By the names of renditions.
    var others: [String: Content] = [:]
    /// Whether pictures are turned as EXIF says.
    var isUpright = true
    var isStripped = false
    var isSRGB = false
  }

  private let stages: [String: Stage]

  package init(_ stages: [StageConfiguration]) {
    self.stages = Dictionary(
      stages.map { ($0.name, Self.stage($0)) }, uniquingKeysWith: { $1 })
  }

  private static func stage(_ configuration: StageConfiguration) -> Stage {
    guard configuration.plugin == PictureRenderer.plugin, configuration.command == nil else {
      return Stage(content: .unknown)
    }
    let options = configuration.options
    var stage = Stage(content: configuration.input.isEmpty ? .picture : .unknown)
    stage.isUpright = options["transform"]?.bool ?? true
    stage.isStripped = options["strip"]?.bool ?? true
    stage.isSRGB = options["colorSpace"]?.string ?? "srgb" == "srgb"
    guard (options["region"]?.array ?? []).isEmpty else {
      stage.content = .altered
      return stage
    }
    for size in options["sizes"]?.array ?? [] {
      guard let name = size["name"]?.string else { continue }
      if isAltered(size) {
        stage.others[name] = .altered
      } else if size["animated"]?.bool == true {
        stage.others[name] = .animation
      }
    }
    return stage
  }

  private static func isAltered(_ size: JSONValue) -> Bool {
    size["width"] != nil || size["sprites"] != nil || size["mirrored"]?.bool == true
      || size["rotation"]?.integer ?? 0 != 0 || size["tones"]?.string ?? "color" != "color"
  }

  /// Whether it takes the orientation of an original to tell what a rendition shows.
  package var dependsOnOrientation: Bool { stages.values.contains { !$0.isUpright } }

  /// What a rendition shows.
  ///
  /// - Parameter orientation: EXIF's of the original, 1 to 8; `nil` for an original without one.
  package func content(of rendition: RenditionRecord, orientation: Int?) -> Content {
    guard let stage = stages[rendition.stage] else { return .unknown }
    if rendition.from == "sprites" || !stage.isUpright && orientation ?? 1 != 1 { return .altered }
    return stage.others[rendition.name] ?? stage.content
  }

  /// Whether a rendition surely has no metadata, such as the place where a picture was taken.
  ///
  /// A stale one was made by other options, of which nothing is known here.
  package func isStripped(_ rendition: RenditionRecord) -> Bool {
    !rendition.isStale && stages[rendition.stage]?.isStripped ?? false
  }

  /// Whether another picture of the same asset may be made of a rendition, or be that rendition.
  ///
  /// It may be handed out as it is, and then must not tell where the picture was taken.
  func isSource(_ rendition: RenditionRecord, orientation: Int?) -> Bool {
    guard let stage = stages[rendition.stage] else { return false }
    return stage.isStripped && stage.isSRGB && rendition.from == "image" && !rendition.isStale
      && content(of: rendition, orientation: orientation) == .picture
  }
}
