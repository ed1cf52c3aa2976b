package import Configuration
import Files
package import PipelineModel
import Records

/// Whether files of a source are complete: the one judgement of `run`, `import`, `watch` and
/// `explain`.
///
/// First the times of a file and the way it came say whether it must wait. Then it is opened, and
/// must be what it was, with no process writing to it.
package struct Completeness: Sendable {
  /// What a file lacks to be imported.
  package enum Obstacle: Hashable, Sendable {
    /// It was changed within the settle window; how much of that is left.
    case fresh(Duration, window: TimeSpan)
    /// It changed since it was found.
    case changed(reason: String)
    /// A process has it open for writing.
    case writer
    case empty
    /// It is large and almost all holes: it would take hours to read and, when copied, fill the
    /// disk.
    case holes(reason: String)

    /// The state of a file that is not imported because of it.
    var state: Sighting.State {
      switch self {
      case .fresh, .changed, .writer: .settling
      case .empty, .holes: .rejected
      }
    }

    /// A sentence.
    var reason: String {
      switch self {
      case .fresh(_, let window):
        "It was changed a moment ago and must stay unchanged for \(window)."
      case .changed(let reason), .holes(let reason): reason
      case .writer: "A process has it open for writing."
      case .empty: "The file is empty."
      }
    }
  }

  /// The settle window.
  let window: Duration
  private let completion: SourceConfiguration.Completion

  package init(_ source: SourceConfiguration) {
    window = source.settle.duration
    completion = source.complete
  }

  // MARK: By times

  /// The time since a file's ctime, by the clock of file systems; negative if that is in the future.
  static func age(of identity: FileIdentity, at now: Timestamp = .now) -> Duration {
    .microseconds(now.microseconds - identity.changed / 1000)
  }

  /// What is left of a file's settle window; `nil` if it need not wait.
  package func wait(for identity: FileIdentity, at now: Timestamp = .now) -> Duration? {
    guard completion == .quiet else { return nil }
    let age = Self.age(of: identity, at: now)
    return age < window ? window - max(age, .zero) : nil
  }

  /// Whether a file of a watched source must wait for a whole window from now on.
  ///
  /// - Parameter change: the last thing that happened to it.
  func mustWait(after change: DirtyPaths.Change, age: Duration) -> Bool {
    switch change {
    case .movedIn: false
    case .closed: completion == .quiet
    case .created, .attributes: true
    // How it came there is unknown, so only its age can tell.
    case .listed: age < window
    }
  }

  // MARK: By the open file

  /// Judges an open file, and requests a lease on it, which the caller releases.
  ///
  /// - Parameters:
  ///   - found: what it was when it was found.
  ///   - isExact: whether not even its ctime may have changed since.
  static func judge(
    _ file: Descriptor, _ status: FileStatus, found: FileIdentity, isExact: Bool
  ) -> (lease: Descriptor.Lease, obstacle: Obstacle?) {
    guard status.identity.isSameFile(as: found) else {
      return (.unavailable, .changed(reason: "It changed since the folder was read."))
    }
    if isExact, status.identity != found {
      return (.unavailable, .changed(reason: "It changed during its settle window."))
    }
    let lease = file.acquireLease()
    // Also for an empty file: its writer may only have begun.
    if lease == .refused { return (lease, .writer) }
    return (lease, flaw(status))
  }

  private static func flaw(_ status: FileStatus) -> Obstacle? {
    let size = status.identity.size
    if size == 0 { return .empty }
    // No file system compresses pictures sixteenfold.
    guard size >= 1 << 30, status.allocatedBytes < size / 16 else { return nil }
    return .holes(
      reason: "Its size is \(ByteSize(bytes: size)), but only "
        + "\(ByteSize(bytes: status.allocatedBytes)) of it are on disk.")
  }
}
