package import PipelineModel

/// What a source takes and what it ignores.
///
/// - A built-in ignore or an exclude that matches a folder, or covers all that is in it as
///   `drafts/**` does, ignores the folder as a whole: one hit, and it is not looked into.
/// - An include decides on files only, so that folders are looked into whatever it says. One that
///   ends in a slash (`raw/`) takes all that is beneath a folder.
/// - An exclude wins over an include.
package struct SourceRules: Sendable {
  /// Whether a path is taken or, for a folder, looked into.
  package enum Verdict: Sendable, Hashable {
    /// It is taken, or looked into.
    case accepted
    /// It is not, because of this rule, for people.
    case ignored(rule: String)
  }

  private let include: [Glob]
  private let exclude: [Glob]
  private let takesEverything: Bool

  /// Makes the rules of a source.
  package init(_ source: SourceConfiguration) {
    self.init(include: source.include, exclude: source.exclude)
  }

  /// Makes rules of patterns, which the built-in ignores are added to.
  package init(include: [Glob] = [.everything], exclude: [Glob] = []) {
    self.include = include
    self.exclude = exclude
    takesEverything = include.contains(.everything)
  }

  /// Decides on a path.
  ///
  /// - Parameters:
  ///   - relative: The path below the source.
  ///   - isFolder: Whether it is a folder.
  ///   - foldersAreAccepted: Whether all folders above are known to be accepted, as they are on
  ///     a walk from the top. By default they are examined, too.
  package func verdict(
    for relative: BytePath, isFolder: Bool, foldersAreAccepted: Bool = false
  ) -> Verdict {
    let path = relative.bytes.split(separator: UInt8(ascii: "/"))
    guard !path.isEmpty else { return .accepted }
    for count in (foldersAreAccepted ? path.count : 1)...path.count {
      let part = path[..<count]
      if let rule = ignoringRule(for: part, isFolder: isFolder || count < path.count) {
        return .ignored(rule: rule)
      }
    }
    if isFolder || isIncluded(path[...]) { return .accepted }
    let patterns = include.map { "“\($0.pattern.printable)”" }.joined(separator: ", ")
    return .ignored(
      rule: patterns.isEmpty ? "nothing is included" : "not included by \(patterns)")
  }

  private func ignoringRule(for path: Glob.Components, isFolder: Bool) -> String? {
    for rule in BuiltInIgnores.rules where rule.glob.matches(path, isFolder: isFolder) {
      return "built-in ignore “\(rule.glob.pattern.printable)”: \(rule.reason)"
    }
    for glob in exclude
    where glob.matches(path, isFolder: isFolder) || (isFolder && glob.covers(path)) {
      return "excluded by “\(glob.pattern.printable)”"
    }
    return nil
  }

  private func isIncluded(_ path: Glob.Components) -> Bool {
    if takesEverything { return true }
    return include.contains { glob in
      guard glob.matchesFoldersOnly else { return glob.matches(path, isFolder: false) }
      return (1..<path.count).contains { glob.matches(path.prefix($0), isFolder: true) }
    }
  }
}
