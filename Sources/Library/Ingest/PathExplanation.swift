import Catalog
package import Configuration
import Files
import Glibc
package import PipelineModel
package import Records

/// The state of a path, its reason, and what happens next.
package struct PathExplanation {
  /// The state in the catalog; `ignored`, `settling` or `unseen` if no run has seen the path.
  package var state: String
  /// The reason, as a sentence; the rule for an ignored path.
  package var reason: String?
  /// What happens next, as a sentence.
  package var next: String
  package var asset: AssetID?
  package var seenAt: Timestamp?
  /// Whether the path has changed since the state was recorded.
  package var hasChanged = false
  /// How long the file must stay unchanged to be complete.
  package var settlesIn: Duration?

  /// Combines what the catalog and the disk say about a path.
  ///
  /// - Parameter source: the configured source that contains it.
  package init(known: Sighting?, found: PathOnDisk, source: SourceConfiguration?) {
    if let known {
      self.init(known, found, source)
    } else {
      self.init(unseen: found, source)
    }
  }

  private init(state: String, reason: String?, next: String) {
    self.state = state
    self.reason = reason
    self.next = next
  }

  // MARK: Paths that no run has seen

  private init(unseen found: PathOnDisk, _ source: SourceConfiguration?) {
    switch found {
    case .missing(let reason), .unreadable(let reason):
      self.init(state: "unseen", reason: reason, next: "Nothing, until there is a file.")
    case .ignored(let rule):
      self.init(state: "ignored", reason: rule, next: Self.ignoredNext)
    case .folder:
      self.init(
        state: "unseen", reason: "It is a folder; each file in it has a state of its own.",
        next: source == nil ? Self.importNext : "The next run looks into it.")
    case .file where source == nil:
      self.init(
        state: "unseen",
        reason: "It is in none of the sources; `pipeline import` imports it.",
        next: Self.importNext)
    case .file(_, let obstacle):
      let isSettling = obstacle?.state == .settling
      self.init(
        state: isSettling ? Sighting.State.settling.rawValue : "unseen",
        reason: isSettling ? nil : "No run has seen it yet.", next: Self.takeNext)
      delay(by: obstacle)
    }
  }

  // MARK: Known paths

  private init(_ known: Sighting, _ found: PathOnDisk, _ source: SourceConfiguration?) {
    self.init(state: known.state.rawValue, reason: known.reason, next: "")
    asset = known.asset
    seenAt = known.seenAt
    switch found {
    case .missing:
      nextOfMissing(known, isWatched: source != nil)
    case .unreadable(let reason):
      next = "Nothing, until it can be read: \(reason)"
    case .ignored(let rule):
      if known.state == .ignored {
        reason = rule
        next = Self.ignoredNext
      } else {
        hasChanged = true
        next = "The next run records that it is now ignored: \(rule)."
      }
    case .folder:
      nextOfFolder(known)
    case .file(let identity, let obstacle):
      nextOfFile(known, identity, obstacle, source)
    }
  }

  private mutating func nextOfMissing(_ known: Sighting, isWatched: Bool) {
    guard known.isExpected else {
      next =
        known.asset == nil
        ? "Nothing, until there is a file again."
        : "Nothing: its bytes are in the library. A new file with this name would be imported."
      return
    }
    hasChanged = true
    next =
      isWatched
      ? "The file no longer exists; the next run records that it is gone."
      : "The file no longer exists; its bytes stay in the library."
  }

  private mutating func nextOfFolder(_ known: Sighting) {
    switch known.state {
    case .ignored, .failed:
      next = "The next run looks into it."
    default:
      hasChanged = true
      next = "It is a folder now; each file in it has a state of its own."
    }
  }

  private mutating func nextOfFile(
    _ known: Sighting, _ identity: FileIdentity, _ obstacle: Completeness.Obstacle?,
    _ source: SourceConfiguration?
  ) {
    let isSame = known.identity?.isSameFile(as: identity) ?? false
    let isWatched = source != nil
    switch known.state {
    case .imported where isSame && known.awaitsRemoval,
      .duplicate where isSame && known.awaitsRemoval:
      next =
        known.asset == nil
        ? "It stays, and is imported again if it changes: it was to be removed, but its asset is gone."
        : "Its bytes are safe; the next run removes it from the source."
    case .imported where isSame, .duplicate where isSame:
      next = "Nothing, until it changes."
    case .returned where isSame:
      next = "Nothing, until it changes or is passed to `import`."
    case .rejected where isSame:
      next = isWatched ? "Nothing, until it changes." : Self.importNext
    case .gone where isSame && known.asset != nil:
      hasChanged = true
      next = "It is back unchanged; the next run records that."
    case .failed where isSame:
      next = isWatched ? "The next run tries again." : Self.importNext
      delay(by: obstacle)
    case .settling where isSame:
      next = isWatched ? Self.takeNext : Self.importNext
      delay(by: obstacle)
    case .ignored where !isWatched:
      // A source's rules do not apply to a folder that was passed to `import`.
      next = "Nothing: it is in none of the sources, and `pipeline import` ignores such files."
    case .ignored:
      hasChanged = true
      next = "No rule ignores it any more; the next run imports it."
      delay(by: obstacle)
    default:
      // Settling files are expected to change.
      hasChanged = known.state != .settling
      next = isWatched ? Self.changedNext(known.state) : Self.importNext
      delay(by: obstacle)
    }
  }

  private static func changedNext(_ state: Sighting.State) -> String {
    switch state {
    case .settling: takeNext
    case .gone: "There is a file again; the next run imports it."
    default: "The file has changed since; the next run imports it as it is now."
    }
  }

  // MARK: Waiting

  /// Explains what a file lacks, if anything.
  private mutating func delay(by obstacle: Completeness.Obstacle?) {
    guard let obstacle else { return }
    if obstacle.state == .settling, state == Sighting.State.settling.rawValue {
      reason = obstacle.reason
    }
    switch obstacle {
    case .fresh(let left, _):
      settlesIn = left
      next =
        "It is complete in \(Self.seconds(left)) s, if it stays unchanged; then it is imported."
    case .writer:
      next = "It is imported once no process has it open for writing."
    case .empty:
      next = "The next run rejects it: it is empty."
    case .holes:
      next = "The next run rejects it: it is almost all holes."
    case .changed:
      // Not of a file that is looked at only once.
      break
    }
  }

  /// Seconds, rounded up to tenths.
  package static func seconds(_ duration: Duration) -> Double {
    (duration / .milliseconds(100)).rounded(.up) / 10
  }

  private static let takeNext = "The next run imports it."
  private static let importNext = "Nothing, until it is passed to `pipeline import`."
  private static let ignoredNext = "Nothing, as long as this rule applies."
}

/// What is at a path now, as a run would see it.
package enum PathOnDisk {
  /// There is nothing; the reason, as a sentence.
  case missing(String)
  case unreadable(String)
  /// A rule excludes it from runs.
  case ignored(rule: String)
  case folder
  /// A file, and what it lacks to be imported, if anything.
  case file(FileIdentity, Completeness.Obstacle?)

  /// - Parameters:
  ///   - path: an absolute path.
  ///   - home: the source and the path relative to it; `nil` outside all sources.
  ///   - library: the library's own folders, which no run imports.
  ///   - longest: the most bytes of a path relative to its source that the catalog can record, if limited.
  package init(
    _ path: BytePath, home: (source: SourceConfiguration, path: BytePath)?, library: [BytePath],
    longest: Int? = nil
  ) {
    let status: FileStatus
    do throws(FileError) {
      status = try FileSystem.status(of: path)
    } catch {
      self = error.code == .notFound ? .missing(error.message) : .unreadable(error.message)
      return
    }
    if library.contains(where: { path == $0 || path.relative(to: $0) != nil }) {
      self = .ignored(rule: "the library itself")
    } else if let longest, let count = home?.path.bytes.count, count > longest {
      self = .ignored(
        rule: "a path of \(count) bytes, and a catalog in PostgreSQL has at most \(longest)")
    } else if let home, let rule = Self.rule(home.source, home.path, status) {
      self = .ignored(rule: rule)
    } else if status.kind == .folder {
      self = .folder
    } else {
      self = .file(status.identity, home.flatMap { Self.obstacle($0.source, path, status) })
    }
  }

  /// The rule that ignores a path, if any.
  private static func rule(
    _ source: SourceConfiguration, _ path: BytePath, _ status: FileStatus
  ) -> String? {
    let isFolder = status.kind == .folder
    if case .ignored(let rule) = SourceRules(source).verdict(for: path, isFolder: isFolder) {
      return rule
    }
    if !source.recursive, isFolder || path.components.count > 1 {
      return "in a folder, and the source is not recursive"
    }
    return status.kind == .regular || isFolder ? nil : status.kind.name
  }

  /// What a run would find missing in a file.
  private static func obstacle(
    _ source: SourceConfiguration, _ path: BytePath, _ status: FileStatus
  ) -> Completeness.Obstacle? {
    if let left = Completeness(source).wait(for: status.identity) {
      return .fresh(left, window: source.settle)
    }
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    // Whether an unreadable file is being written is unknown; a run reports why it fails.
    guard let file = try? Descriptor.open(path, flags: flags) else { return nil }
    defer { file.releaseLease() }
    return Completeness.judge(file, status, found: status.identity, isExact: false).obstacle
  }
}
