import Dispatch
package import Files
import PipelineModel
import Synchronization

/// Tells when a catalog may have changed, whoever changed it.
///
/// Each commit writes to the log beside the catalog, which inotify reports. The report may come before other
/// processes see the commit, so it is passed on at once and again soon after. Where there are no reports,
/// as in network folders, a regular look has to do.
package final class CatalogWatcher: Sendable {
  private struct State {
    var registration: DescriptorEvents.Registration?
    /// Counts the reports that were passed on.
    var reports = 0
  }

  /// `nil` if this user has no queue left.
  private let inotify: Inotify?
  private let name: BytePath
  private let queue = DispatchQueue(label: "pipeline.catalog.watch")
  private let state = Mutex(State())
  private let onChange: @Sendable () -> Void

  /// While commits come without a break, how long to let them pass, in milliseconds: 1,000 a second are
  /// some 50 looks.
  private static let pause = 20
  /// The longest wait between two looks after a report, in milliseconds. The log is written before it is
  /// flushed, and the commit is visible after that: on a slow disk, it takes that long.
  private static let longestPause = 320
  /// How often to look without any report: more often at a database, which sends none.
  private let interval: DispatchTimeInterval

  /// Watches the catalog of a library until the watcher is released.
  ///
  /// - Parameters:
  ///   - inotify: a new queue; without one, the catalog is looked at each five seconds.
  ///   - onChange: called on the watcher's queue; it should return at once.
  package init(
    _ layout: LibraryLayout, inotify: Inotify?, onChange: @escaping @Sendable () -> Void
  ) {
    name = layout.catalog.lastComponent
    interval = .seconds(layout.database == nil ? 5 : 1)
    self.onChange = onChange
    self.inotify = inotify
    do throws(FileError) {
      let folder = try Descriptor.openFolder(layout.catalogFolder)
      _ = try inotify?.watch(folder, for: [.written, .created, .movedIn])
    } catch {
      // Only the regular look is left.
    }
    listen()
    lookRegularly()
  }

  /// Watches the catalog of a library with a queue of its own, if there is one left.
  package convenience init(_ layout: LibraryLayout, onChange: @escaping @Sendable () -> Void) {
    // Without a queue, changes are seen later.
    self.init(layout, inotify: try? Inotify(), onChange: onChange)
  }

  deinit {
    if let registration = state.withLock({ $0.registration }) {
      DescriptorEvents.shared.forget(registration)
    }
  }

  /// Waits for the next report.
  private func listen() {
    guard let inotify else { return }
    let registration = DescriptorEvents.shared.read(inotify.queue, on: queue) { [weak self] in
      guard let self, consumeReports() else { return self != nil }
      pass()
      return false
    }
    state.withLock { $0.registration = registration }
  }

  /// Whether the catalog was reported since the last call.
  private func consumeReports() -> Bool {
    // One buffer of them: a flood would never end. A queue that can't be read leaves the regular look.
    guard let events = try? inotify?.read() else { return false }
    // The catalog, its log, or the queue that overflowed, which has no name.
    return events.contains { $0.name.isEmpty || $0.name.bytes.starts(with: name.bytes) }
  }

  /// Passes a report on, now and some times more.
  private func pass() {
    onChange()
    let number = state.withLock { state in
      state.reports += 1
      return state.reports
    }
    lookAgain(after: Self.pause, report: number)
  }

  /// Looks again after a time, and then after twice that time, unless there is another report.
  private func lookAgain(after milliseconds: Int, report: Int) {
    queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in
      guard let self, state.withLock({ $0.reports }) == report else { return }
      if milliseconds == Self.pause {
        // All during the pause count as one.
        if consumeReports() { return pass() }
        listen()
      }
      onChange()
      if milliseconds < Self.longestPause { lookAgain(after: milliseconds * 2, report: report) }
    }
  }

  private func lookRegularly() {
    queue.asyncAfter(deadline: .now() + interval) { [weak self] in
      guard let self else { return }
      onChange()
      lookRegularly()
    }
  }
}
