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

  /// While commits come without a break, how long to let them pass: 1,000 a second are some 50 looks.
  private static let pause = DispatchTimeInterval.milliseconds(20)
  /// When to look for the last time after a report, behind the pause.
  private static let delay = DispatchTimeInterval.milliseconds(230)
  /// How often to look without any report.
  private static let interval = DispatchTimeInterval.seconds(5)

  /// Watches the catalog of a library until the watcher is released.
  ///
  /// - Parameters:
  ///   - inotify: a new queue; without one, the catalog is looked at each five seconds.
  ///   - onChange: called on the watcher's queue; it should return at once.
  package init(
    _ layout: LibraryLayout, inotify: Inotify?, onChange: @escaping @Sendable () -> Void
  ) {
    name = layout.catalog.lastComponent
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
    guard let inotify else { return false }
    var isReported = false
    // A queue that can't be read leaves the regular look.
    while let events = try? inotify.read(), !events.isEmpty {
      // The catalog, its log, or the queue that overflowed, which has no name.
      if events.contains(where: { $0.name.isEmpty || $0.name.bytes.starts(with: name.bytes) }) {
        isReported = true
      }
    }
    return isReported
  }

  /// Passes a report on, now and after a pause, in which further ones count as one.
  private func pass() {
    onChange()
    let number = state.withLock { state in
      state.reports += 1
      return state.reports
    }
    queue.asyncAfter(deadline: .now() + Self.pause) { [weak self] in
      guard let self else { return }
      if consumeReports() { return pass() }
      onChange()
      listen()
      queue.asyncAfter(deadline: .now() + Self.delay) { [weak self] in
        guard let self, state.withLock({ $0.reports }) == number else { return }
        onChange()
      }
    }
  }

  private func lookRegularly() {
    queue.asyncAfter(deadline: .now() + Self.interval) { [weak self] in
      guard let self else { return }
      onChange()
      lookRegularly()
    }
  }
}
