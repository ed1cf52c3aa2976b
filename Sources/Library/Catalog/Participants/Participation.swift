import Files
import Glibc
import PipelineModel
import PostgreSQL
import Records
import Synchronization

/// How a process shows that it is there, and looks whether others are.
package struct ParticipationTiming: Sendable {
  /// How often it says so.
  package var pulse = Duration.seconds(10)
  /// How long that is true.
  package var validity = Duration.seconds(30)
  /// How often it looks; one that is missed twice in a row is gone. The second look comes a fifth earlier.
  package var look = Duration.seconds(5)

  package init() {}

  package static let standard = ParticipationTiming()
}

/// What this process tells others of itself.
package enum OwnProcess {
  private static let named = Mutex("unknown")
  private static let machine = Mutex(host)

  /// The name of the host.
  package static let host: String = {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
    return name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "unknown" }
  }()

  /// The name of the machine, by default that of the host.
  package static var node: String {
    get { machine.withLock { $0 } }
    set { machine.withLock { $0 = newValue } }
  }

  /// The verb that it runs.
  package static var verb: String {
    get { named.withLock { $0 } }
    set { named.withLock { $0 = newValue } }
  }
}

/// This process among those that change a catalog in PostgreSQL, on a connection and threads of its own.
///
/// The connection has a lock with the participant's number as its key, which goes with it: so others notice at once that
/// a process was killed. Of one that was cut off or stopped they notice it by its pulse.
final class Participation: Sendable {
  /// What a look at the participants found.
  struct Finding: Sendable {
    /// Those that are gone; 0 stands for attempts of nobody.
    var departed: [Int64] = []
    /// Whether others took this process for gone.
    var isExpired = false
    /// Whether others may have made jobs ready.
    var hasReadyJobs = false
    /// Whether some were missed for the first time.
    var isWaiting = false
  }

  private final class Seat {
    let connection: Connection
    let driver: PostgreSQLDriver
    /// Those that were missed last time.
    var missed: Set<Int64> = []
    /// The connection of that look: after a loss of the server, all need time to come back.
    var lookedOn = 0
    /// The connection that notifications were taken from last.
    var listenedOn = 0

    init(_ driver: PostgreSQLDriver, _ place: CatalogPlace) {
      self.driver = driver
      connection = Connection(driver, place)
    }

    /// Changes which participants are live, in a turn, because the transactions of others rely on it from one statement
    /// to the next.
    func change(_ script: String) throws(CatalogError) {
      // One message is one transaction.
      try connection.executeScript("\(driver.turn()); \(script)")
    }
  }

  private let seat: SerialAccess<Seat>
  private let isTaker: Bool
  private let timing: ParticipationTiming
  private let number: Atomic<Int64>
  private let isOver = Atomic(false)
  private let renewal = Atomic(true)
  private let isExpired = Atomic(false)
  private let draining = Atomic(false)
  private let writer = Atomic<Int32>(0)
  private let pause = TimedSemaphore()

  /// The participant's number.
  var id: Int64 { number.load(ordering: .relaxed) }

  /// Whether it is to claim nothing more.
  var isDraining: Bool {
    get { draining.load(ordering: .relaxed) }
    set { draining.store(newValue, ordering: .relaxed) }
  }

  /// Joins.
  ///
  /// - Parameter isTaker: whether this process has the library's lock, so that others which had it are gone.
  init(
    _ place: CatalogPlace, _ address: DatabaseLocation, isTaker: Bool, timing: ParticipationTiming
  ) throws(CatalogError) {
    self.isTaker = isTaker
    self.timing = timing
    number = Atomic(0)
    seat = SerialAccess(Seat(try PostgreSQLDriver(address, role: .reading), place))
    try join()
  }

  /// Joins, under a new number.
  func join() throws(CatalogError) {
    let id = Int64.random(in: 1 ... .max)
    try seat.sync { (seat) throws(CatalogError) in
      let former = self.id
      // Shared, because a server may take a while to notice that the connection before this one has ended.
      seat.driver.session =
        "LISTEN \(PostgreSQLSchema.channel); SELECT pg_advisory_lock_shared(\(id))"
      do throws(CatalogError) {
        try seat.connection.executeScript(seat.driver.session)
      } catch {
        // A process that was cut off may have lost this connection, too.
        guard seat.driver.isLost else { throw error }
        try seat.driver.reconnect()
      }
      // Whoever was told to end while it was taken for gone still is.
      var wasAsked = false
      if former != 0 {
        wasAsked = try seat.connection.hasRow(
          "SELECT 1 FROM participant WHERE id = ? AND state = 'ended'", former)
        try seat.connection.executeScript("SELECT pg_advisory_unlock_shared(\(former))")
      } else if isTaker {
        try seat.change(
          """
          UPDATE participant SET state = 'expired' WHERE taker AND \(PostgreSQLSchema.isLive);
          \(PostgreSQLSchema.notify)
          """)
      }
      try seat.connection.execute(
        """
        INSERT INTO participant
          (id, taker, node, process, verb, version, state, joined_at, renewed_at, expires_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, clock_timestamp(), clock_timestamp(), \(expiry))
        ON CONFLICT (id) DO NOTHING
        """, id, isTaker, OwnProcess.node, Int64(getpid()), OwnProcess.verb,
        programVersion, wasAsked ? "draining" : "active")
      try seat.connection.execute(
        """
        DELETE FROM participant
        WHERE NOT \(PostgreSQLSchema.isLive) AND expires_at < clock_timestamp() - interval '1 day'
        """)
    }
    number.store(id, ordering: .relaxed)
  }

  private var expiry: String {
    "clock_timestamp() + \(Int(timing.validity / .milliseconds(1))) * interval '1 millisecond'"
  }

  /// Begins to renew the pulse, and to look for others.
  ///
  /// These are two threads, because what follows from a look may take its time.
  ///
  /// - Parameter attend: receives what a look found; returns whether to go on.
  func begin(_ attend: @escaping @Sendable (Finding) -> Bool) throws(CatalogError) {
    do throws(FileError) {
      try DedicatedThread.start { [self] in
        // Without the server it is tried again soon.
        while rest(hasRenewed ? timing.pulse : timing.look) { try? renew() }
      }
      try DedicatedThread.start { [self] in
        // Without the server there is nothing to be found; the next round tries again.
        var pause = timing.look
        while listen(for: pause, attend) {
          let finding = try? look()
          // So that with the time it takes to begin their jobs, the jobs of a killed process wait for less than two looks.
          pause = finding?.isWaiting == true ? timing.look * 0.8 : timing.look
          if let finding, !attend(finding) { return }
        }
      }
    } catch {
      throw CatalogError(.database, error.message)
    }
  }

  /// Waits; returns whether to go on.
  private func rest(_ time: Duration) -> Bool {
    guard !isOver.load(ordering: .relaxed) else { return false }
    _ = pause.wait(for: time)
    return !isOver.load(ordering: .relaxed)
  }

  /// Waits, and tells of jobs that others made ready meanwhile.
  ///
  /// - Returns: whether to go on.
  private func listen(for time: Duration, _ attend: (Finding) -> Bool) -> Bool {
    let end = ContinuousClock.now + time
    while ContinuousClock.now < end {
      guard rest(min(Self.pause, time)) else { return false }
      if isNotified(), !attend(Finding(hasReadyJobs: true)) { return false }
    }
    return true
  }

  /// How often to look for notifications, which asks nobody.
  private static let pause = Duration.milliseconds(200)

  /// Whether others have told of jobs, or may have done so while there was no connection.
  private func isNotified() -> Bool {
    let found = try? use { (seat) throws(CatalogError) in
      // At once, because others miss a process without it.
      if seat.driver.isLost { try seat.driver.reconnect() }
      let senders = seat.driver.takeNotifications()
      let isNew = seat.listenedOn != seat.driver.connectionNumber
      seat.listenedOn = seat.driver.connectionNumber
      let own = writer.load(ordering: .relaxed)
      return isNew || senders.contains { $0 != own }
    }
    return found.flatMap(\.self) ?? false
  }

  /// The server's process by which this process changes the catalog, whose own notifications are no news.
  var writerBackend: Int32 {
    get { writer.load(ordering: .relaxed) }
    set { writer.store(newValue, ordering: .relaxed) }
  }

  /// Whether the last try to renew the pulse found the server.
  private var hasRenewed: Bool { renewal.load(ordering: .relaxed) }

  private func renew() throws(CatalogError) {
    renewal.store(false, ordering: .relaxed)
    var renewed: Int?
    var start: ContinuousClock.Instant
    repeat {
      start = .now
      renewed = try use { (seat) throws(CatalogError) in
        try seat.connection.changes(
          """
          UPDATE participant SET renewed_at = clock_timestamp(), expires_at = \(expiry)
          WHERE id = ? AND \(PostgreSQLSchema.isLive)
          """, id)
      }
      // Where the server's disk stalls, a pulse may be over before it is committed.
    } while renewed == 1 && ContinuousClock.now - start > timing.look
    isExpired.store(renewed == 0, ordering: .relaxed)
    renewal.store(true, ordering: .relaxed)
  }

  /// Looks for others that are gone.
  ///
  /// Misses nobody while its own pulse is over: what kept this process from renewing it may have kept the others.
  private func look() throws(CatalogError) -> Finding {
    try use { (seat) throws(CatalogError) in
      var finding = Finding(isExpired: isExpired.load(ordering: .relaxed))
      let found = try seat.connection.all(
        """
        SELECT id, FALSE FROM participant WHERE \(PostgreSQLSchema.isLive) AND id <> ?1 AND \(PostgreSQLSchema.isGone)
          AND NOT EXISTS (SELECT 1 FROM participant WHERE id = ?1 AND expires_at < clock_timestamp())
        UNION ALL SELECT 0, FALSE WHERE EXISTS (
          SELECT 1 FROM attempt WHERE ended_at IS NULL AND \(Self.isOrphan("attempt")))
        UNION ALL SELECT id, TRUE FROM participant WHERE id = ?1 AND state = 'draining'
        """, id
      ) { (id: $0.int64(0), isOwn: $0.bool(1)) }
      isDraining = found.contains { $0.isOwn }
      let missed = Set(found.filter { !$0.isOwn }.map(\.id))
      if seat.lookedOn == seat.driver.connectionNumber {
        finding.departed = missed.intersection(seat.missed).sorted()
      }
      finding.isWaiting = finding.departed.count < missed.count
      seat.missed = missed
      seat.lookedOn = seat.driver.connectionNumber
      return finding
    } ?? Finding()
  }

  /// Uses the connection, unless this process leaves.
  private func use<Value>(
    _ body: (Seat) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value? {
    try seat.sync { (seat) throws(CatalogError) in
      guard !isOver.load(ordering: .relaxed) else { return nil }
      seat.driver.interrupt { [self] in isOver.load(ordering: .relaxed) }
      defer { seat.driver.interrupt(when: nil) }
      return try body(seat)
    }
  }

  /// SQL for whether an open attempt, a row of `attempt` under some name, is nobody's any more.
  static func isOrphan(_ row: String) -> String {
    """
    NOT EXISTS (SELECT 1 FROM participant
      WHERE participant.id = \(row).participant AND \(PostgreSQLSchema.isLive))
    """
  }

  /// Tells others that this process claims nothing more.
  func drain() throws(CatalogError) {
    try seat.sync { (seat) throws(CatalogError) in
      try seat.connection.execute(
        "UPDATE participant SET state = 'draining' WHERE id = ? AND state = 'active'", id)
    }
  }

  /// Leaves, and ends the threads, unless it has done so before. One that did nothing is forgotten.
  func leave() {
    guard !isOver.exchange(true, ordering: .relaxed) else { return }
    for _ in 0..<2 { pause.signal() }
    // Otherwise, others notice that the connection is gone.
    try? seat.sync { (seat) throws(CatalogError) in
      defer { seat.connection.close() }
      guard !seat.driver.isLost else { return }
      try seat.connection.executeScript("SET lock_timeout = '5s'")
      try seat.change(
        """
        DELETE FROM participant WHERE id = \(id) AND jobs = 0;
        UPDATE participant SET state = 'ended' WHERE id = \(id) AND \(PostgreSQLSchema.isLive);
        \(PostgreSQLSchema.notify)
        """)
    }
  }
}
