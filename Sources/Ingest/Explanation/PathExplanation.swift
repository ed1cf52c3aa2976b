package import Catalog
package import Configuration
import Files
package import PipelineModel

/// The one state of a path, why it has it, and what happens to it next.
package struct PathExplanation {
  /// The state in the catalog; of a path that no run has seen `ignored`, `settling` or `unseen`.
  package var state: String
  /// Why, as a sentence; of an ignored path the rule.
  package var reason: String?
  /// What happens next, as a sentence.
  package var next: String
  package var asset: AssetID?
  package var seenAt: Timestamp?
  /// Whether what is at the path is not what the state was given to.
  package var hasChanged = false
  /// How long the file has to be left alone to be complete.
  package var settlesIn: Duration?

  /// A path as the catalog and the disk have it.
  ///
  /// - Parameters:
  ///   - known: what the catalog knows of it.
  ///   - look: what is there now.
  ///   - source: the configured source that it is in.
  package init(known: Sighting?, look: DiskLook, source: SourceConfiguration?) {
    if let known {
      self.init(known, look, source)
    } else {
      self.init(unseen: look, source)
    }
  }

  private init(state: String, reason: String?, next: String) {
    self.state = state
    self.reason = reason
    self.next = next
  }

  // MARK: Paths that no run has seen

  private init(unseen look: DiskLook, _ source: SourceConfiguration?) {
    switch look {
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
        reason: "It is in none of the sources; `pipeline import` takes it.",
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

  private init(_ known: Sighting, _ look: DiskLook, _ source: SourceConfiguration?) {
    self.init(state: known.state.rawValue, reason: known.reason, next: "")
    asset = known.asset
    seenAt = known.seenAt
    switch look {
    case .missing:
      nextOfMissing(known, isWatched: source != nil)
    case .unreadable(let reason):
      next = "Nothing, until it can be looked at: \(reason)"
    case .ignored(let rule):
      if known.state == .ignored {
        reason = rule
        next = Self.ignoredNext
      } else {
        hasChanged = true
        next = "The next run notes that it is ignored now: \(rule)."
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
        : "Nothing: its bytes are in the library. A new file of this name would be taken."
      return
    }
    hasChanged = true
    next =
      isWatched
      ? "The file is not there any more; the next run notes that it is gone."
      : "The file is not there any more; its bytes stay in the library."
  }

  private mutating func nextOfFolder(_ known: Sighting) {
    switch known.state {
    case .ignored, .failed:
      next = "The next run looks into it."
    default:
      hasChanged = true
      next = "There is a folder now; each file in it has a state of its own."
    }
  }

  private mutating func nextOfFile(
    _ known: Sighting, _ identity: FileIdentity, _ wait: DiskLook.Wait?,
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
      next = "Nothing, until it changes or is named to `import`."
    case .rejected where isSame:
      next = isWatched ? "Nothing, until it changes." : Self.importNext
    case .gone where isSame && known.asset != nil:
      hasChanged = true
      next = "It is back as it was; the next run notes that."
    case .failed where isSame:
      next = isWatched ? "The next run tries again." : Self.importNext
      delay(by: wait, source)
    case .settling where isSame:
      next = isWatched ? Self.takeNext : Self.importNext
      delay(by: wait, source)
    case .ignored where !isWatched:
      // Rules of sources say nothing of what was in a folder that was named to `import`.
      next = "Nothing: it is in none of the sources, and `pipeline import` passes over such files."
    case .ignored:
      hasChanged = true
      next = "No rule ignores it any more; the next run takes it."
      delay(by: wait, source)
    default:
      // Settling files change; that is why they are.
      hasChanged = known.state != .settling
      next = isWatched ? Self.changedNext(known.state) : Self.importNext
      delay(by: wait, source)
    }
  }

  private static func changedNext(_ state: Sighting.State) -> String {
    switch state {
    case .settling: takeNext
    case .gone: "There is a file again; the next run takes it."
    default: "The file has changed since; the next run takes it as it is now."
    }
  }

  // MARK: Waiting

  /// Says what a file waits for, if it does.
  private mutating func delay(by wait: DiskLook.Wait?, _ source: SourceConfiguration?) {
    switch wait {
    case nil:
      break
    case .quiet(let left):
      settlesIn = left
      let window = source?.settle.description ?? ""
      if state == Sighting.State.settling.rawValue {
        reason = "It was touched a moment ago and has to be left alone for \(window)."
      }
      next = "It is complete in \(Self.seconds(left)) s, if nobody touches it; then it is taken."
    case .writer:
      if state == Sighting.State.settling.rawValue {
        reason = "Somebody has it open for writing."
      }
      next = "It is taken once whoever has it open for writing has closed it."
    }
  }

  /// Seconds, rounded up to tenths.
  package static func seconds(_ duration: Duration) -> Double {
    (duration / .milliseconds(100)).rounded(.up) / 10
  }

  private static let takeNext = "The next run takes it."
  private static let importNext = "Nothing, until it is named to `pipeline import`."
  private static let ignoredNext = "Nothing, while that rule holds."
}
