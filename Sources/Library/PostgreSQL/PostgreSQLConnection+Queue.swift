import CPostgreSQL

/// Statements that are sent without waiting for their answers, which are read with that of the next one that is
/// waited for. Source: libpq's chapter “Pipeline Mode”.
extension PostgreSQLConnection {
  /// Queues a prepared statement.
  ///
  /// - Parameter sql: its text, for errors.
  package func enqueue(
    prepared name: String, _ parameters: PostgreSQLParameters, sql: String
  ) throws(PostgreSQLError) {
    try enqueue(sql) { send(name, parameters) }
  }

  /// Queues a statement without parameters that is not prepared.
  package func enqueue(_ sql: String) throws(PostgreSQLError) {
    try enqueue(sql) { functions.PQsendQueryParams(handle, sql, 0, nil, nil, nil, nil, 1) }
  }

  func enqueue(_ sql: String, _ send: () -> Int32) throws(PostgreSQLError) {
    guard isOpen else { throw Self.closed }
    if queue.isEmpty, functions.PQenterPipelineMode(handle) == 0 {
      throw PostgreSQLError(.connection, message)
    }
    queue.append(sql)
    guard send() == 1 else { throw PostgreSQLError(.connection, message) }
  }

  /// Waits for all queued statements; returns the result of the last, or throws the first error.
  ///
  /// The server executes none that follows one that failed.
  @discardableResult
  package func finishQueue() throws(PostgreSQLError) -> PostgreSQLResult {
    let texts = queue
    queue = []
    try send { functions.PQpipelineSync(handle) }
    defer { if isOpen { _ = functions.PQexitPipelineMode(handle) } }
    return try answers(to: texts)
  }

  /// Forgets queued statements, whose transaction is about to be undone.
  package func abandonQueue() { if !queue.isEmpty { _ = try? finishQueue() } }

  /// Reads the results of queued statements and the mark behind them.
  private func answers(to texts: [String]) throws(PostgreSQLError) -> PostgreSQLResult {
    var ending: Ending?
    let answer = Answer(library)
    var failed: String?
    var isComplete = false
    for text in texts + [""] {
      // Nothing follows a result but the next statement's, also when the connection is lost.
      var next = try nextResult(&ending)
      while next == nil, !isLost { next = try nextResult(&ending) }
      guard let result = next else { break }
      isComplete = functions.PQresultStatus(result) == PGRES_PIPELINE_SYNC
      if isComplete {
        functions.PQclear(result)
      } else if let result = answer.add(result, isSuccess: isSuccess(result)) {
        queuedChanges += result.changedRows
      } else if failed == nil {
        failed = text
      }
    }
    do throws(PostgreSQLError) {
      let last = try finish(answer, ending)
      guard isComplete else { throw PostgreSQLError(.connection, message) }
      return last
    } catch {
      var failure = error
      // One that is waited for has no text here.
      if failed?.isEmpty == false { failure.queuedStatement = failed }
      throw failure
    }
  }
}
