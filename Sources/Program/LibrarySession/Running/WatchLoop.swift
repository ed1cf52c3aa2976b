import Files
import Glibc
package import Ingest
import PipelineModel

/// `watch` until a signal: session after session, as the configuration changes, other processes
/// need the library, and the disk fills up.
package struct WatchLoop {
  private let output: any SessionOutput
  private let signals: SignalHandler
  private let service: ServiceManager
  private let wakeup: Wakeup

  /// - Parameter wakeup: woken when a signal arrives.
  package init(
    output: any SessionOutput, signals: SignalHandler = .shared, service: ServiceManager,
    wakeup: Wakeup
  ) {
    self.output = output
    self.signals = signals
    self.service = service
    self.wakeup = wakeup
  }

  /// Watches with the library's lock, or beside the process that has it.
  ///
  /// - Parameter open: finds out which, and takes the lock; nothing else may keep that.
  package func run(_ open: () throws -> SessionPlace) throws {
    var end = WatchSession.Outcome.reload(try open())
    Heartbeat.shared.begin(service)
    var absence = DatabaseAbsence()
    // Whoever begins has to see what is wrong with a password or a name.
    var hasBegun = false
    repeat {
      let next: SessionPlace
      switch end {
      case .signal: return
      case .reload(let place): next = place
      case .letGo(let library):
        guard let locked = try regain(library) else { return }
        next = .locked(locked)
      }
      // Drop the reference: releasing the library requires that nothing keeps its lock.
      end = .signal
      var isRunning = false
      do {
        let session = try WatchSession(
          hasBegun ? next.again : next, output: output, signals: signals, service: service,
          wakeup: wakeup)
        (hasBegun, isRunning) = (true, true)
        let start = ContinuousClock.now
        defer { absence.end(ofSessionSince: start) }
        end = try session.run()
      } catch let error where FullDisk.isCause(of: error) {
        output.survived(error)
        guard waitForSpace(next.setup) else { return }
        end = .reload(next)
      } catch let error
        where (next.isJoined || hasBegun) && DatabaseAbsence.isAway(error, hasBegun: hasBegun)
        // While it begins, another process may have the catalog's lock.
        || (next.isJoined || isRunning) && DatabaseAbsence.isOvertaken(error)
      {
        if absence.isNews(DatabaseAbsence.cause(of: error)) {
          output.survived(error)
          output.message(
            DatabaseAbsence.isAway(error, hasBegun: hasBegun)
              ? "The watch goes on when the database is back."
              : "The watch begins anew.")
        }
        let moment = ContinuousClock.now + absence.nextPause()
        while ContinuousClock.now < moment { guard pause() else { return } }
        end = .reload(reloadedIfAsked(next))
      }
    } while !signals.isStopRequested
  }

  /// The place with the configuration as it is now, if a signal asked for that and it can be used.
  private func reloadedIfAsked(_ place: SessionPlace) -> SessionPlace {
    guard signals.consumeReload() else { return place }
    do {
      return try place.reloaded()
    } catch {
      output.survived(error)
      output.message("The old configuration stays in use.")
      return place
    }
  }

  /// Waits until the library is free again, or a signal comes.
  private func regain(_ library: ConfiguredLibrary) throws -> LockedLibrary? {
    // Give the requesting process time to take the lock.
    let start = ContinuousClock().now + .seconds(1)
    while pause() {
      if ContinuousClock().now > start, let locked = try library.attemptLock() { return locked }
    }
    return nil
  }

  /// Waits until the reserve is free again.
  ///
  /// - Returns: `false` if the user asked to stop.
  private func waitForSpace(_ setup: LibrarySetup) -> Bool {
    repeat {
      for _ in 0..<50 where !pause() { return false }
    } while !hasRoom(setup)
    return true
  }

  /// Waits for a tenth of a second; returns `false` after a signal.
  private func pause() -> Bool {
    if signals.isStopRequested { return false }
    Heartbeat.shared.beat()
    usleep(100_000)
    return true
  }

  private func hasRoom(_ setup: LibrarySetup) -> Bool {
    setup.folders.allSatisfy { folder in
      // If a disk can't be queried, try again later.
      guard let facts = try? Descriptor.openFolder(folder).fileSystem() else { return false }
      return facts.freeBytes > setup.reserve()
    }
  }
}
