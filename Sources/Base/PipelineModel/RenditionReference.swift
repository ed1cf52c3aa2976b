/// The name of a rendition with that of its stage, such as `thumbnails/preview`.
package struct RenditionReference: Hashable, Sendable, CustomStringConvertible {
  package var stage: String
  package var name: String

  package init(stage: String, name: String) {
    self.stage = stage
    self.name = name
  }

  /// - Returns: `nil` unless the text is two names with a slash in between.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    self.init(stage: String(parts[0]), name: String(parts[1]))
  }

  package var description: String { "\(stage)/\(name)" }
}
