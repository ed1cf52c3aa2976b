package import PipelineModel

/// A pattern for paths relative to a source, compiled once and matched bytewise.
///
/// - `*` matches any bytes within a component, `?` one byte, `[a-z]` and `[!a-z]` one ASCII byte
///   in or not in a class, `**` as a whole component any number of folders; `\` escapes the next
///   character.
/// - A pattern that contains a slash is anchored at the source (`/notes.txt`, `2024/*.jpg`); one
///   without matches the last component at any depth (`*.part`), as in gitignore(5).
/// - A pattern that ends in a slash matches only folders.
/// - ASCII letters match regardless of case.
///
/// Matching backtracks only to the last `*` of a component and the last `**` of a path, so its
/// time is at most proportional to the product of the lengths of pattern and path.
package struct Glob: Sendable, Hashable {
  /// Matches one component or, as `folders`, any number of them.
  enum Segment: Sendable, Hashable {
    case folders
    case component([Token])
  }

  /// Matches one byte or, as `any`, any number of them.
  enum Token: Sendable, Hashable {
    case any
    case one
    case byte(UInt8)
    case oneOf(ByteClass)
  }

  /// The pattern as written.
  package let pattern: BytePath
  /// Whether only folders match.
  package let matchesFoldersOnly: Bool
  /// Whether the pattern matches the last component at any depth.
  let isName: Bool
  let segments: [Segment]

  /// The pattern `**`.
  package static let everything = Glob(
    pattern: BytePath("**"), matchesFoldersOnly: false, isName: true, segments: [.folders])

  /// Compiles a pattern.
  ///
  /// - Throws: `badGlob` with the reason as a sentence.
  package init(_ pattern: String) throws(ConfigurationError) {
    try self.init(BytePath(pattern))
  }

  init(pattern: BytePath, matchesFoldersOnly: Bool, isName: Bool, segments: [Segment]) {
    self.pattern = pattern
    self.matchesFoldersOnly = matchesFoldersOnly
    self.isName = isName
    self.segments = segments
  }

  /// Whether a path relative to the source matches.
  package func matches(_ path: BytePath, isFolder: Bool = false) -> Bool {
    matches(path.bytes.split(separator: UInt8(ascii: "/"))[...], isFolder: isFolder)
  }
}
