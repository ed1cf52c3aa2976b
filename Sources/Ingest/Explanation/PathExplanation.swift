package import Catalog
package import Configuration
import Files
package import PipelineModel

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
  /// - Parameters:
  ///   - known: the path's record in the catalog.
  ///   - found: what is at the path now.
  ///   - source: the configured source that contains it.
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
    case .file(let status, let wait):
      self.init(
        state: wait == nil ? "unseen" : Sighting.State.settling.rawValue,
        reason: wait == nil ? "No run has seen it yet." : nil,
        next: status.identity.size == 0 ? "The next run rejects it: it is empty." : Self.takeNext)
      delay(by: wait, source)
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
    case .file(let status, let wait):
      nextOfFile(known, status.identity, wait, source)
    }
  }

  private mutating func nextOfMissing(_ known: Sighting, isWatched: Bool) {
    guard known.isExpected else {
      next =
        known.asset == nil
        ? "Nothing, until there is a file again."
        : "Nothing: its bytes are in the library. A new file with this name would be ingested."
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
    _ known: Sighting, _ identity: FileIdentity, _ wait: PathOnDisk.Wait?,
    _ source: SourceConfiguration?
  ) {
    let isSame = known.identity?.isSameFile(as: identity) ?? false
    let isWatched = source != nil
    switch known.state {
    case .imported where isSame && known.awaitsRemoval,
      .duplicate where isSame && known.awaitsRemoval:
      next = "Its bytes are safe; the next run removes it from the source."
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
      delay(by: wait, source)
    case .settling where isSame:
      next = isWatched ? Self.takeNext : Self.importNext
      delay(by: wait, source)
    case .ignored where !isWatched:
      // A source's rules do not apply to a folder that was passed to `import`.
      next = "Nothing: it is in none of the sources, and `pipeline import` ignores such files."
    case .ignored:
      hasChanged = true
      next = "No rule ignores it any more; the next run ingests it."
      delay(by: wait, source)
    default:
      // Settling files are expected to change.
      hasChanged = known.state != .settling
      next = isWatched ? Self.changedNext(known.state) : Self.importNext
      delay(by: wait, source)
    }
  }

  private static func changedNext(_ state: Sighting.State) -> String {
    switch state {
    case .settling: takeNext
    case .gone: "There is a file again; the next run ingests it."
    default: "The file has changed since; the next run ingests it as it is now."
    }
  }

  // MARK: Waiting

  /// Explains what a file waits for, if anything.
  private mutating func delay(by wait: PathOnDisk.Wait?, _ source: SourceConfiguration?) {
    switch wait {
    case nil:
      break
    case .quiet(let left):
      settlesIn = left
      let window = source?.settle.description ?? ""
      if state == Sighting.State.settling.rawValue {
        reason = "It was changed a moment ago and must stay unchanged for \(window)."
      }
      next =
        "It is complete in \(Self.seconds(left)) s, if it stays unchanged; then it is ingested."
    case .writer:
      if state == Sighting.State.settling.rawValue {
        reason = "A process has it open for writing."
      }
      next = "It is ingested once no process has it open for writing."
    }
  }

  /// Seconds, rounded up to tenths.
  package static func seconds(_ duration: Duration) -> Double {
    (duration / .milliseconds(100)).rounded(.up) / 10
  }

  private static let takeNext = "The next run ingests it."
  private static let importNext = "Nothing, until it is passed to `pipeline import`."
  private static let ignoredNext = "Nothing, as long as this rule applies."
}
