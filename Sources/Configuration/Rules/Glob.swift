package import PipelineModel

/// A pattern for paths relative to a source, compiled once, matched byte by byte.
///
/// - `*` stands for any bytes within a component, `?` for one byte, `[a-z]` and `[!a-z]` for one
///   ASCII byte in or out of a class, `**` as a whole component for any number of folders, and
///   `\` takes the meaning from what follows.
/// - A pattern with a slash in it is anchored at the source (`/notes.txt`, `2024/*.jpg`); one
///   without matches the last component at any depth (`*.part`), as in gitignore(5).
/// - A pattern that ends in a slash matches folders only.
/// - ASCII letters match in either case.
///
/// Only the last `*` of a component and the last `**` of a path are ever tried again, so that the
/// time is at most proportional to the lengths of pattern and path multiplied.
package struct Glob: Sendable, Hashable {
  /// What stands for one component or, as `folders`, for any number of them.
  enum Segment: Sendable, Hashable {
    case folders
    case component([Token])
  }

  /// What stands for one byte or, as `any`, for any number of them.
  enum Token: Sendable, Hashable {
    case any
    case one
    case byte(UInt8)
    case oneOf(ByteClass)
  }

  /// The pattern as it was written.
  package let pattern: BytePath
  /// Whether only folders match.
  package let matchesFoldersOnly: Bool
  /// Whether the pattern is for the last component at any depth.
  let isName: Bool
  let segments: [Segment]

  /// The pattern `**`.
  package static let everything = Glob(
    pattern: BytePath("**"), matchesFoldersOnly: false, isName: true, segments: [.folders])

  /// Compiles a pattern.
  ///
  /// - Throws: `badGlob`, with a sentence that says what is wrong.
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
