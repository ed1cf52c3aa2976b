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

  package let pattern: BytePath
  package let matchesFoldersOnly: Bool
  /// Whether the pattern matches the last component at any depth.
  let isName: Bool
  let segments: [Segment]

  /// The pattern `**`.
  package static let everything = Glob(
    pattern: BytePath("**"), matchesFoldersOnly: false, isName: true, segments: [.folders])

  /// Whether a path relative to the source matches.
  package func matches(_ path: BytePath, isFolder: Bool = false) -> Bool {
    matches(path.bytes.split(separator: UInt8(ascii: "/"))[...], isFolder: isFolder)
  }

  /// A path split at its slashes.
  typealias Components = ArraySlice<ArraySlice<UInt8>>

  func matches(_ path: Components, isFolder: Bool) -> Bool {
    if matchesFoldersOnly && !isFolder { return false }
    guard let last = path.last else { return false }
    if isName { return Self.matches(segments[0], last) }
    return Self.matches(segments[...], path)
  }

  /// Whether the pattern matches everything in a folder, like `drafts/**`.
  func covers(_ folder: Components) -> Bool {
    guard !matchesFoldersOnly, segments.count > 1, segments.last == .folders else { return false }
    return Self.matches(segments.dropLast(), folder)
  }

  private static func matches(_ segment: Segment, _ component: ArraySlice<UInt8>) -> Bool {
    switch segment {
    case .folders: true
    case .component(let tokens): matches(tokens, component)
    }
  }

  private static func matches(_ segments: ArraySlice<Segment>, _ path: Components) -> Bool {
    var segment = segments.startIndex
    var component = path.startIndex
    var retry: (segment: Int, component: Int)?
    while component < path.endIndex {
      if segment < segments.endIndex, segments[segment] == .folders {
        segment += 1
        // At the end of a pattern `**` matches at least one component, elsewhere none or more.
        if segment == segments.endIndex { return true }
        retry = (segment, component)
      } else if segment < segments.endIndex, matches(segments[segment], path[component]) {
        segment += 1
        component += 1
      } else if let last = retry {
        component = last.component + 1
        segment = last.segment
        retry = (segment, component)
      } else {
        return false
      }
    }
    return segment == segments.endIndex
  }

  private static func matches(_ tokens: [Token], _ bytes: ArraySlice<UInt8>) -> Bool {
    var token = 0
    var byte = bytes.startIndex
    var retry: (token: Int, byte: Int)?
    while byte < bytes.endIndex {
      if token < tokens.count, tokens[token] == .any {
        token += 1
        if token == tokens.count { return true }
        retry = (token, byte)
      } else if token < tokens.count, matches(tokens[token], bytes[byte]) {
        token += 1
        byte += 1
      } else if let last = retry {
        byte = last.byte + 1
        token = last.token
        retry = (token, byte)
      } else {
        return false
      }
    }
    while token < tokens.count, tokens[token] == .any { token += 1 }
    return token == tokens.count
  }

  private static func matches(_ token: Token, _ byte: UInt8) -> Bool {
    switch token {
    case .any, .one: true
    case .byte(let expected): byte.lowercased == expected
    case .oneOf(let members): members.contains(byte)
    }
  }
}
