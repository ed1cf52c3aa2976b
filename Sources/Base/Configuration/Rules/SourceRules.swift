package import PipelineModel

/// The rules for which files of a source to import.
///
/// - A built-in ignore or an exclude that matches a folder, or everything in it like `drafts/**`,
///   ignores the folder as a whole: it counts once and is not scanned.
/// - An include applies only to files; folders are scanned whatever it says. One that ends in a
///   slash (`raw/`) includes everything below the folder.
/// - An exclude takes precedence over an include.
package struct SourceRules: Sendable {
  /// Whether a file is imported or a folder scanned.
  package enum Verdict: Sendable, Hashable {
    /// The path is imported or scanned.
    case accepted
    /// The path is ignored because of this rule, worded for messages.
    case ignored(rule: String)
  }

  private let include: [Glob]
  private let exclude: [Glob]
  private let takesEverything: Bool

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
    return .ignored(rule: patterns.isEmpty ? "nothing is included" : "not included by \(patterns)")
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

/// Files that are never imported, whatever the configuration says: those of unfinished
/// transfers, editors, file managers, synchronizers and NAS devices.
package enum BuiltInIgnores {
  /// A pattern for file and folder names, with its reason.
  package struct Rule: Sendable {
    /// The pattern, which contains no slash except at the end.
    package let glob: Glob
    /// What such files and folders are, for messages.
    package let reason: String
  }

  /// The rules; messages name the first that matches.
  package static let rules: [Rule] = table.map { pattern, reason in
    do throws(ConfigurationError) {
      return Rule(glob: try Glob(pattern), reason: reason)
    } catch {
      // The table is constant, and a test compiles it completely.
      preconditionFailure(error.message)
    }
  }

  private static let table: [(pattern: String, reason: String)] = [
    // Unfinished transfers, which are renamed when they are complete.
    ("*.part", "an unfinished download"),
    ("*.partial", "an unfinished download"),
    ("*.filepart", "an unfinished upload"),
    ("*.crdownload", "an unfinished download"),
    ("*.download", "an unfinished download"),
    ("*.opdownload", "an unfinished download"),
    ("*.aria2", "an unfinished download"),
    ("*.tmp", "a temporary file"),
    ("*.temp", "a temporary file"),
    (".syncthing.*", "an unfinished synchronization"),
    ("~syncthing~*", "an unfinished synchronization"),
    // Editors.
    ("*~", "a backup copy of an editor"),
    ("~$*", "a lock file of an office program"),
    (".~lock.*#", "a lock file of an office program"),
    ("*.swp", "a swap file of an editor"),
    // Operating systems.
    ("._*", "macOS metadata"),
    (".DS_Store", "macOS metadata"),
    ("__MACOSX", "macOS metadata"),
    ("Thumbs.db", "Windows metadata"),
    ("ehthumbs.db", "Windows metadata"),
    ("desktop.ini", "Windows metadata"),
    ("$RECYCLE.BIN", "a recycle bin"),
    ("System Volume Information", "Windows metadata"),
    ("lost+found/", "fragments found by a file system check"),
    (".nfs*", "a deleted file that is still open"),
    // NAS devices and synchronizers.
    ("@eaDir", "metadata of a NAS device"),
    ("#recycle", "a recycle bin of a NAS device"),
    ("#snapshot", "snapshots of a NAS device"),
    ("@Recycle", "a recycle bin of a NAS device"),
    ("@Recently-Snapshot", "snapshots of a NAS device"),
    (".stfolder", "a marker of Syncthing"),
    (".stversions", "old versions kept by Syncthing"),
    // All other hidden files.
    (".*", "a dot file or folder"),
  ]
}
