import CPostgreSQL
import Glibc

/// Statements and their answers.
extension PostgreSQLConnection {
  /// Executes statements without parameters, separated by semicolons, all or none of them.
  ///
  /// - Returns: the result of the last one, whose values are texts.
  @discardableResult
  package func execute(_ script: String) throws(PostgreSQLError) -> PostgreSQLResult {
    if !queue.isEmpty { _ = try finishQueue() }
    try send { functions.PQsendQuery(handle, script) }
    return try answer()
  }

  /// Prepares a statement under a name.
  package func prepare(
    _ sql: String, as name: String, types: [UInt32]
  ) throws(PostgreSQLError) {
    if !queue.isEmpty { _ = try finishQueue() }
    try send { functions.PQsendPrepare(handle, name, sql, Int32(types.count), types) }
    _ = try answer()
  }

  /// Executes a prepared statement and returns all of its rows.
  ///
  /// - Throws: also the error of a statement that was queued before; then this one is not executed.
  package func execute(
    prepared name: String, _ parameters: PostgreSQLParameters
  ) throws(PostgreSQLError) -> PostgreSQLResult {
    guard queue.isEmpty else {
      try enqueue("", size: parameters.bytes.count) { send(name, parameters) }
      return try finishQueue()
    }
    try send { send(name, parameters) }
    return try answer()
  }

  /// From so many bytes on, a message may take a while to be sent.
  private static let longMessage = 1 << 16

  func send(_ name: String, _ parameters: PostgreSQLParameters) -> Int32 {
    // A server that waits for the first message after an answer would end a transaction meanwhile. This one is short.
    // Source: idle_in_transaction_session_timeout in PostgresMain.
    if parameters.bytes.count >= Self.longMessage, functions.PQsendFlushRequest(handle) == 0 {
      return 0
    }
    return parameters.withPointers { values, lengths, formats in
      functions.PQsendQueryPrepared(handle, name, Int32(values.count), values, lengths, formats, 1)
    }
  }

  /// Why libpq did not take a message.
  func unsent() -> PostgreSQLError { PostgreSQLError(isLost ? .connection : .refused, message) }

  static let closed = PostgreSQLError(.connection, "The connection is closed.")

  /// Queues a message and sends it. Source: PQflush.
  func send(_ queue: () -> Int32) throws(PostgreSQLError) {
    guard isOpen else { throw Self.closed }
    guard queue() == 1 else { throw unsent() }
    let wait = PostgreSQLWait()
    while case let rest = functions.PQflush(handle), rest != 0 {
      // A lost connection is told of by the result.
      guard rest == 1 else { return }
      if wait.poll(functions.PQsocket(handle), Int16(POLLIN | POLLOUT), step: 250) {
        if functions.PQconsumeInput(handle) == 0 { return }
      } else if wait.isOver {
        throw giveUp()
      }
    }
  }

  /// Waits for the results of what was sent; returns the last, or throws the first error.
  private func answer() throws(PostgreSQLError) -> PostgreSQLResult {
    var ending: Ending?
    let answer = Answer(library)
    while let result = try nextResult(&ending) { answer.add(result, isSuccess: isSuccess(result)) }
    return try finish(answer, ending)
  }

  /// The results that have come of what was sent.
  final class Answer {
    private let library: PostgreSQLLibrary
    fileprivate var last: PostgreSQLResult?
    /// The first that is an error.
    fileprivate(set) var failed: OpaquePointer?

    init(_ library: PostgreSQLLibrary) { self.library = library }

    deinit { library.functions.PQclear(failed) }

    /// Returns what the result is, unless it is of no interest after an error.
    @discardableResult
    func add(_ result: OpaquePointer, isSuccess: Bool) -> PostgreSQLResult? {
      guard failed == nil else {
        library.functions.PQclear(result)
        return nil
      }
      if isSuccess { last = PostgreSQLResult(result, library) } else { failed = result }
      return isSuccess ? last : nil
    }
  }

  /// Returns the last result, or throws the first error.
  func finish(_ answer: Answer, _ ending: Ending?) throws(PostgreSQLError) -> PostgreSQLResult {
    // A request that arrives later would end what is sent next.
    if let ending, let request = ending.request, !request.hasArrived(within: ending.wait) {
      throw giveUp()
    }
    // Only at the end it is known whether the connection is lost, too.
    if let failed = answer.failed {
      let failure = error(of: failed)
      // Without cancelling, a limit for statements does the same.
      let isOwn = (ending != nil || !canCancel) && failure.state == "57014"
      throw isOwn ? PostgreSQLError(.interrupted, failure.message, state: failure.state) : failure
    }
    guard let last = answer.last else { throw PostgreSQLError(.connection, message) }
    return last
  }

  /// The end of statements that nobody waits for any more.
  struct Ending {
    /// What was sent to the server, if it could be.
    var request: PostgreSQLCancellation?
    /// The server ends the statement by itself, or does not answer any more.
    let wait = PostgreSQLWait(limit: .seconds(5))
  }

  func nextResult(_ ending: inout Ending?) throws(PostgreSQLError) -> OpaquePointer? {
    let wait = PostgreSQLWait()
    while functions.PQisBusy(handle) != 0, functions.PQsocket(handle) >= 0 {
      if let isInterrupted, ending == nil, isInterrupted() {
        ending = Ending(request: canCancel ? PostgreSQLCancellation(handle, library) : nil)
      }
      let step: Int32 = isInterrupted == nil || ending != nil ? 250 : 10
      if wait.poll(functions.PQsocket(handle), Int16(POLLIN), step: step) {
        // A lost connection is told of by the result.
        if functions.PQconsumeInput(handle) == 0 { break }
      } else if (ending?.wait ?? wait).isOver {
        if ending == nil, canCancel {
          // Not every server looks whether a client is still there while it waits for a lock.
          let request = PostgreSQLCancellation(handle, library)
          _ = request?.hasArrived(within: PostgreSQLWait(limit: .seconds(1)))
        }
        throw giveUp()
      } else if ending?.request?.hasArrived == true {
        // It may have come before the statement, and a server that reads one forgets it. Source: ProcessInterrupts.
        ending?.request = PostgreSQLCancellation(handle, library)
      }
    }
    return functions.PQgetResult(handle)
  }

  /// Closes the connection, because nobody waits for the server any longer.
  private func giveUp() -> PostgreSQLError {
    close()
    return PostgreSQLError(
      .connection, "the server did not answer, and this program could not wait any longer")
  }

  func isSuccess(_ result: OpaquePointer) -> Bool {
    let status = functions.PQresultStatus(result)
    return [PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY].contains(status)
  }

  /// The error of a result that is none.
  private func error(of result: OpaquePointer) -> PostgreSQLError {
    func field(_ code: Character) -> String? {
      code.asciiValue.flatMap { functions.PQresultErrorField(result, Int32($0)) }
        .map { String(cString: $0) }
    }
    // PG_DIAG_SQLSTATE, PG_DIAG_MESSAGE_PRIMARY and PG_DIAG_MESSAGE_DETAIL.
    let state = field("C")
    let text = [field("M") ?? message, field("D")].compactMap(\.self).joined(separator: ". ")
    return PostgreSQLError(
      isLost || state == nil ? .connection : .refused, Self.line(text), state: state)
  }
}
