import Catalog
import Files
import Glibc
import Ingest
import LibrarySession
import PipelineModel
import Records
import Synchronization

/// Looks once a second what changed, for all clients together, and which of them are slow or gone.
final class LibraryNews: Sendable {
  private let shared: SharedLibrary
  private let pool: QueryPool
  private let events: EventHub
  private let connections: Connections
  private let channel: ParentChannel
  private let counting: LibraryCounting
  private let answers: JSONAnswers
  private let pacing: ImportPacing
  private let isStopped = Atomic(false)
  private let isCounting = Atomic(false)
  /// The last counts that were sent.
  private let counts = Mutex<String?>(nil)

  /// Counting takes time for each job that waits, so it is not done more often, in seconds.
  private static let countInterval = 2
  /// How often clients hear something, so that proxies keep the connection, in seconds.
  private static let heartbeat = 15

  init(
    shared: SharedLibrary, pool: QueryPool, events: EventHub, connections: Connections,
    channel: ParentChannel, counting: LibraryCounting, answers: JSONAnswers, pacing: ImportPacing
  ) {
    self.shared = shared
    self.pool = pool
    self.events = events
    self.connections = connections
    self.channel = channel
    self.counting = counting
    self.answers = answers
    self.pacing = pacing
  }

  func start() throws(FileError) { try DedicatedThread.start { [self] in run() } }

  func stop() { isStopped.store(true, ordering: .relaxed) }

  private func run() {
    var revision: Revision?
    var second = 0
    var hasToldOfLoss = false
    while !isStopped.load(ordering: .relaxed) {
      shared.refresh()
      connections.endSlowOnes()
      connections.tellOfGoneOnes()
      counting.tick()
      // While a catalog is made anew there may be none; the next look finds it.
      let now = currentRevision()
      if LostDatabase.shared.isNoted, !hasToldOfLoss {
        hasToldOfLoss = true
        channel.tell(.lostDatabase)
      }
      if let now, now != revision {
        if revision != nil { pacing.noteChange() }
        revision = now
        // Both: some may have come before there was a greeting.
        greet(revision)
        events.send("change", Self.change(now))
      }
      if second % Self.countInterval == 0, events.hasClients { count(revision) }
      if second % Self.heartbeat == 0 { events.sendHeartbeat() }
      second += 1
      sleep(1)
    }
  }

  private func currentRevision() -> Revision? {
    do throws(CatalogError) {
      return try shared.current.catalog.revision
    } catch {
      if error.code == .unreachable { LostDatabase.shared.note() }
      return nil
    }
  }

  private static func change(_ revision: Revision) -> String {
    "{\"revision\":\"\(revision)\"}"
  }

  /// Who comes later is told of the last revision, so that nothing is missed between a page and its events.
  private func greet(_ revision: Revision?) {
    var greeting: [(String, String)] = []
    if let revision { greeting.append(("change", Self.change(revision))) }
    if let counts = counts.withLock({ $0 }) { greeting.append(("status", counts)) }
    events.setGreeting(greeting)
  }

  private func count(_ revision: Revision?) {
    // The last one may still be at it.
    guard !isCounting.exchange(true, ordering: .relaxed) else { return }
    pool.ask { [answers] in
      try answers.progress(in: $0)
    } completion: { [self] result in
      defer { isCounting.store(false, ordering: .relaxed) }
      guard case .success(let value) = result else { return }
      var bytes: [UInt8] = []
      value.write(to: &bytes)
      let text = String(decoding: bytes, as: UTF8.self)
      let isNew = counts.withLock { last in
        defer { last = text }
        return last != text
      }
      guard isNew else { return }
      greet(revision)
      events.send("status", text)
    }
  }
}
