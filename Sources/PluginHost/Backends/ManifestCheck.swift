internal import Configuration
internal import PipelineModel
package import PipelinePlugin

/// Checks a manifest beyond decoding.
package enum ManifestCheck {
  /// The most bytes of a version, a media type or a fact's name.
  private static let longestWord = 128
  /// The most bytes of `runtime`, which lists decoders and their versions.
  private static let longestRuntime = 4096
  /// The most media types, and the most fact names.
  private static let mostWords = 1000

  /// Whether text consists of lower-case letters, digits and dashes, and starts with a letter or
  /// digit.
  package static func isIdentifier(_ text: String) -> Bool {
    let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789-".utf8)
    return !text.isEmpty && text.utf8.count <= 64 && text.utf8.first != UInt8(ascii: "-")
      && text.utf8.allSatisfy(allowed.contains)
  }

  /// Returns what is wrong, worded to follow “in which”, or `nil`.
  package static func fault(in manifest: PluginManifest) -> String? {
    guard isIdentifier(manifest.id) else {
      return "the id \(quoted(manifest.id)) is not a name of lower-case letters, digits and dashes"
    }
    guard !manifest.version.isEmpty else { return "the version is empty" }
    guard isLine(manifest.version, longest: longestWord) else {
      return "version is \(quoted(manifest.version)), not one line of at most \(longestWord) bytes"
    }
    guard isLine(manifest.runtime, longest: longestRuntime) else {
      return "runtime is not one line of at most \(longestRuntime) bytes"
    }
    guard manifest.outputVersion >= 1 else {
      return "outputVersion is \(manifest.outputVersion), not at least 1"
    }
    guard manifest.options["type"]?.string == "object" else {
      return "the options' schema does not describe an object"
    }
    return SchemaBounds.fault(in: manifest.options) ?? faultInLists(of: manifest)
  }

  private static func faultInLists(of manifest: PluginManifest) -> String? {
    let accepts = manifest.accepts ?? []
    guard accepts.count <= mostWords, manifest.facts.count <= mostWords else {
      return "accepts or facts has more than \(mostWords) entries"
    }
    for pattern in accepts where !MediaTypeCheck.isPattern(pattern) {
      return "accepts names \(quoted(pattern)), which is not a media type"
    }
    for fact in manifest.facts where !isLine(fact, longest: longestWord) {
      return "facts names \(quoted(fact)), which is not one line of at most \(longestWord) bytes"
    }
    return nil
  }

  /// Whether text is short enough and has no control characters.
  private static func isLine(_ text: String, longest: Int) -> Bool {
    text.utf8.count <= longest && BytePath(text).printable == text
  }
}
