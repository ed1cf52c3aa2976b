package import PipelineModel

/// The rules for which files of a source to ingest.
///
/// - A built-in ignore or an exclude that matches a folder, or everything in it like `drafts/**`,
///   ignores the folder as a whole: it counts once and is not scanned.
/// - An include applies only to files; folders are scanned whatever it says. One that ends in a
///   slash (`raw/`) includes everything below the folder.
/// - An exclude takes precedence over an include.
package struct SourceRules: Sendable {
  /// Whether a file is ingested or a folder scanned.
  package enum Verdict: Sendable, Hashable {
    /// The path is ingested or scanned.
    case accepted
    /// The path is ignored because of this rule, worded for messages.
    case ignored(rule: String)
  }

  private let include: [Glob]
  private let exclude: [Glob]
  private let takesEverything: Bool

  /// Makes the rules of a source.
  package init(_ source: SourceConfiguration) {
    self.init(include: source.include, exclude: source.exclude)
  }

  /// Makes rules from patterns in addition to the built-in ignores.
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
  ///   - foldersAreAccepted: Whether all parent folders are known to be accepted, as in a walk
  ///     from the top. By default they are checked, too.
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
