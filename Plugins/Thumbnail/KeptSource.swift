import PipelineModel
import PipelinePlugin

/// A thumbnail that an earlier job made, and that smaller ones are made from now.
///
/// Only with `"scaling": "fast"`, which prefers speed: the original need not be decoded again. Facts
/// about the file stay those of the earlier job, which saw all of it.
struct KeptSource {
  let kept: PluginRequest.Kept

  /// The largest kept thumbnail that all wanted ones can be made of; `nil` if there is none.
  ///
  /// - Parameter options: those of the stage, with all sizes.
  init?(_ request: PluginRequest, _ options: ThumbnailOptions) {
    guard let wanted = request.wanted, let kept = request.kept,
      // A thumbnail has no metadata but its own, and shows the whole picture.
      options.scaling == .fast, options.strip, options.region == nil
    else { return nil }
    let sizes = options.sizes.filter { wanted.contains($0.name) }
    let hasAlpha = request.facts["identify"]?["alpha"] != false
    let usable = kept.filter { kept in
      guard let made = options.sizes.first(where: { $0.name == kept.name }), made.isWholePicture,
        // What is damaged may be better with another version of the decoder.
        ["image", "preview"].contains(kept.from)
      else { return false }
      return sizes.allSatisfy { size in
        let isOpaque = !hasAlpha || (size.format ?? options.format) == .jpeg
        let isGoodEnough =
          kept.mediaType == "image/png"
          || made.quality ?? options.quality >= size.quality ?? options.quality
        return size.canBeReduced && kept.isSufficient(for: size) && isGoodEnough
          && (isOpaque || kept.mediaType != "image/jpeg")
      }
    }
    guard let largest = usable.max(by: { $0.longest < $1.longest }) else { return nil }
    self.kept = largest
  }

  var type: MediaType { MediaType(rawValue: kept.mediaType) }

  /// The size of the upright original, whose shape the kept thumbnail has only to within a pixel; `nil`
  /// if that is not known.
  ///
  /// - Parameter identified: what `identify` says of the original.
  func shape(of identified: JSONValue?) -> (width: Int, height: Int)? {
    guard let width = identified?["width"]?.integer, let height = identified?["height"]?.integer,
      width > 0, height > 0,
      ThumbnailDecoder.fit(width, height, kept.longest) == (kept.width, kept.height)
    else { return nil }
    return (width, height)
  }

  /// Thumbnails that were made of this one, which show what it shows.
  func described(_ renditions: [PluginRendition]) -> [PluginRendition] {
    renditions.map { rendition in
      var rendition = rendition
      rendition.from = kept.from
      return rendition
    }
  }
}

extension PluginRequest.Kept {
  fileprivate var longest: Int { max(width, height) }

  /// Whether its sides are longer by a quarter at least, so that the compression of both does not add
  /// up.
  fileprivate func isSufficient(for size: ThumbnailOptions.Size) -> Bool {
    4 * longest >= 5 * size.longest
  }
}

extension ThumbnailOptions.Size {
  /// Whether a thumbnail of this size is the upright picture, only smaller.
  fileprivate var isWholePicture: Bool {
    finish == ThumbnailFinish() && !isAnimated && sprites == nil
  }

  /// Whether all that a thumbnail of this size takes is a picture.
  fileprivate var canBeReduced: Bool { finish.exact == nil && !isAnimated && sprites == nil }
}
