internal import PipelineModel
package import PipelinePlugin

/// What a manifest must hold besides decoding.
package enum ManifestCheck {
  /// Whether text is lower-case letters, digits and dashes, beginning with a letter or digit.
  package static func isIdentifier(_ text: String) -> Bool {
    let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789-".utf8)
    return !text.isEmpty && text.utf8.count <= 64 && text.utf8.first != UInt8(ascii: "-")
      && text.utf8.allSatisfy(allowed.contains)
  }

  /// Returns what is wrong, to follow “in which”, or `nil`.
  package static func fault(in manifest: PluginManifest) -> String? {
    guard isIdentifier(manifest.id) else {
      return "the id “\(manifest.id)” is not of lower-case letters, digits and dashes"
    }
    guard !manifest.version.isEmpty else { return "the version is empty" }
    guard manifest.outputVersion >= 1 else {
      return "outputVersion is \(manifest.outputVersion), not at least 1"
    }
    guard manifest.options["type"]?.string == "object" else {
      return "the options' schema is not of an object"
    }
    for pattern in manifest.accepts ?? []
    where pattern.split(separator: "/", omittingEmptySubsequences: false).count != 2 {
      return "accepts names “\(pattern)”, which is no media type"
    }
    return nil
  }
}

/// What renditions must hold besides decoding; where their files are is checked by who takes them.
package enum RenditionCheck {
  /// More pixels in a row, or rows, than any picture has.
  private static let mostPixels = 1 << 24

  /// Returns what is wrong, to follow “in which”, or `nil`.
  package static func fault(in renditions: [PluginRendition]) -> String? {
    var names: Set<String> = []
    let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    for rendition in renditions {
      guard !rendition.name.isEmpty, rendition.name.utf8.allSatisfy(allowed.contains) else {
        return "a rendition is named “\(rendition.name)”"
      }
      guard names.insert(rendition.name).inserted else {
        return "two renditions are named “\(rendition.name)”"
      }
      guard (1...mostPixels).contains(rendition.width), (1...mostPixels).contains(rendition.height)
      else {
        return
          "the rendition “\(rendition.name)” is \(rendition.width) × \(rendition.height) pixels"
      }
      let parts = rendition.path.split(separator: "/", omittingEmptySubsequences: false)
      guard !parts.contains(where: { ["", ".", ".."].contains($0) }) else {
        return "the rendition “\(rendition.name)” is outside the output folder"
      }
    }
    return nil
  }
}
