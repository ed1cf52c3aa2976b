internal import PipelineModel
package import PipelinePlugin

/// Checks a result beyond decoding; `RenditionStore` checks where its files are.
package enum ResultCheck {
  /// Returns what is wrong, worded to follow “in which”, or `nil`.
  package static func fault(in result: PluginResult) -> String? {
    guard case .done(let facts, let renditions) = result else { return nil }
    guard facts.object != nil else { return "the facts are not an object" }
    return fault(in: renditions)
  }

  /// More pixels in a row, or rows, than any picture has.
  private static let mostPixels = 1 << 24
  /// The most bytes of a name, which becomes part of a file name.
  private static let longestName = 64
  /// The longest path that the kernel accepts, in bytes. Source: linux/limits.h, `PATH_MAX`.
  private static let longestPath = 4095

  private static func fault(in renditions: [PluginRendition]) -> String? {
    var names: Set<String> = []
    for rendition in renditions {
      guard isName(rendition.name) else { return "a rendition is named \(quoted(rendition.name))" }
      let subject = "the rendition \(quoted(rendition.name))"
      guard names.insert(rendition.name).inserted else {
        return "two renditions are named \(quoted(rendition.name))"
      }
      guard (1...mostPixels).contains(rendition.width), (1...mostPixels).contains(rendition.height)
      else { return "\(subject) is \(rendition.width) × \(rendition.height) pixels" }
      guard MediaTypeCheck.isType(rendition.mediaType) else {
        return "\(subject) has the media type \(quoted(rendition.mediaType)), which is invalid"
      }
      if let from = rendition.from, !isName(from) {
        return "\(subject) has the source name \(quoted(from)), which is invalid"
      }
      if let fault = fault(inPath: rendition.path) { return "\(subject) \(fault)" }
    }
    return nil
  }

  private static func fault(inPath path: String) -> String? {
    // The kernel ignores everything after a zero byte.
    guard path.utf8.count <= longestPath, !path.utf8.contains(0) else {
      return "has the path \(quoted(path)), which no file can have"
    }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    return parts.contains { ["", ".", ".."].contains($0) } ? "is outside the output folder" : nil
  }

  private static func isName(_ text: String) -> Bool {
    let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    return !text.isEmpty && text.utf8.count <= longestName && text.utf8.allSatisfy(allowed.contains)
  }
}
