import Configuration
package import Files
import PipelineModel
package import PipelinePlugin

/// Checks a manifest beyond decoding.
package enum ManifestCheck {
  /// The most bytes of a version, a media type or a fact's name.
  private static let longestWord = 128
  /// The most bytes of `runtime`, which lists decoders and their versions.
  private static let longestRuntime = 4096
  /// The most bytes of the reason of a lack.
  private static let longestLack = 1024
  /// The most media types, and the most fact names.
  private static let mostWords = 1000

  /// Whether text consists of lower-case letters, digits and dashes, and starts with a letter or
  /// digit.
  package static func isIdentifier(_ text: String) -> Bool {
    text.isWord(of: "abcdefghijklmnopqrstuvwxyz0123456789-", longest: 64)
      && text.utf8.first != UInt8(ascii: "-")
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
    guard manifest.lacks.count <= mostWords else {
      return "lacks has more than \(mostWords) entries"
    }
    for lack in manifest.lacks {
      guard lack.accepts.count <= mostWords else {
        return "lacks has an entry with more than \(mostWords) media types"
      }
      for pattern in lack.accepts where !MediaTypeCheck.isPattern(pattern) {
        return "lacks names \(quoted(pattern)), which is not a media type"
      }
      guard !lack.reason.isEmpty, isLine(lack.reason, longest: longestLack) else {
        return "lacks has a reason that is not one line of at most \(longestLack) bytes"
      }
    }
    let renditions = manifest.renditions ?? []
    guard renditions.count <= mostWords else {
      return "renditions has more than \(mostWords) entries"
    }
    for name in renditions where name.isEmpty || !isLine(name, longest: longestWord) {
      return
        "renditions names \(quoted(name)), which is not one line of at most \(longestWord) bytes"
    }
    if let parts = manifest.parts {
      guard manifest.options["properties"]?[parts.option] != nil else {
        return "parts names \(quoted(parts.option)), which is not one of the options"
      }
      if let other = parts.facts.first(where: { !manifest.facts.contains($0) }) {
        return "parts names \(quoted(other)), which is not one of the facts"
      }
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

/// Checks a result beyond decoding; `RenditionStore` checks where its files are.
package enum ResultCheck {
  /// Returns what is wrong, worded to follow “in which”, or `nil`.
  package static func fault(in result: PluginResult) -> String? {
    guard case .done(let facts, let renditions) = result else { return nil }
    guard facts.object != nil else { return "the facts are not an object" }
    return fault(in: renditions)
  }

  /// Returns the failure of a job whose files can't be brought in.
  package static func failure(becauseOf error: FileError) -> PluginFailure {
    let isTransient = [.noSpace, .ioError, .tooManyOpen].contains(error.code)
    return PluginFailure(
      isTransient ? .transient : .permanent, "What the plugin made is unusable: \(error.message)")
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
    text.isWord(of: lettersAndDigits + "-_", longest: longestName)
  }
}

/// The syntax of a media type, such as `image/svg+xml`.
///
/// Source: RFC 6838, section 4.2, “restricted-name”.
enum MediaTypeCheck {
  /// Whether text is a type and a subtype, without parameters.
  static func isType(_ text: String) -> Bool {
    let parts = parts(of: text)
    return parts.count == 2 && parts.allSatisfy(isName)
  }

  /// Whether text is a media type pattern: `image/jpeg`, `image/*` or `*/*`.
  static func isPattern(_ text: String) -> Bool {
    let parts = parts(of: text)
    guard parts.count == 2 else { return false }
    return (isName(parts[0]) || text == "*/*") && (isName(parts[1]) || parts[1] == "*")
  }

  private static func parts(of text: String) -> [Substring] {
    text.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
  }

  private static func isName(_ text: Substring) -> Bool {
    text.prefix(1).isWord(of: lettersAndDigits, longest: 1)
      && text.isWord(of: lettersAndDigits + "!#$&-^_.+", longest: 127)
  }
}

private let lettersAndDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

extension StringProtocol {
  /// Whether this has at least one byte, at most `longest`, and only those of some characters.
  fileprivate func isWord(of characters: String, longest: Int) -> Bool {
    let allowed = Set(characters.utf8)
    return (1...longest).contains(utf8.count) && utf8.allSatisfy(allowed.contains)
  }
}
