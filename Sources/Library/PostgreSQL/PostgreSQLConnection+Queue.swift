import CPostgreSQL

/// Statements that are sent without waiting for their answers, which are read with that of the next one that is
/// waited for. Source: libpq's chapter “Pipeline Mode”.
extension PostgreSQLConnection {
  /// The most statements in the queue, and the most bytes of their parameters, unless one alone has more: libpq keeps
  /// in memory what the socket does not take yet, and the answers.
  static let mostQueued = (statements: 1000, bytes: 4 << 20)

  /// Queues a prepared statement.
  ///
  /// - Parameter sql: its text, for errors.
  /// - Throws: also the error of a statement that was queued before, if the queue is full.
  package func enqueue(
    prepared name: String, _ parameters: PostgreSQLParameters, sql: String
  ) throws(PostgreSQLError) {
    try enqueue(sql, size: parameters.bytes.count) { send(name, parameters) }
  }

  /// Queues a statement without parameters that is not prepared.
  ///
  /// - Throws: as above.
  package func enqueue(_ sql: String) throws(PostgreSQLError) {
    try enqueue(sql, size: sql.utf8.count) {
      functions.PQsendQueryParams(handle, sql, 0, nil, nil, nil, nil, 1)
    }
  }

  func enqueue(_ sql: String, size: Int, _ send: () -> Int32) throws(PostgreSQLError) {
    guard isOpen else { throw Self.closed }
    let isFull =
      queue.count >= Self.mostQueued.statements || queuedBytes + size > Self.mostQueued.bytes
    if isFull, !queue.isEmpty { try finishQueue() }
    let isFirst = queue.isEmpty
    if isFirst, functions.PQenterPipelineMode(handle) == 0 { throw unsent() }
    guard send() == 1 else {
      let error = unsent()
      if isFirst { _ = functions.PQexitPipelineMode(handle) }
      throw error
    }
    queue.append(sql)
    queuedBytes += size
  }

  /// Waits for all queued statements; returns the result of the last, or throws the first error.
  ///
  /// The server executes none that follows one that failed.
  @discardableResult
  package func finishQueue() throws(PostgreSQLError) -> PostgreSQLResult {
    let texts = queue
    (queue, queuedBytes) = ([], 0)
    do throws(PostgreSQLError) {
      try send { functions.PQpipelineSync(handle) }
    } catch {
      // Without the mark nobody knows any more whose answer comes next.
      close()
      throw error
    }
    defer { if isOpen { _ = functions.PQexitPipelineMode(handle) } }
    return try answers(to: texts)
  }

  /// Forgets queued statements, whose transaction is about to be undone.
  package func abandonQueue() { if !queue.isEmpty { _ = try? finishQueue() } }

  /// Reads the results of queued statements, one of each, and the mark behind them.
  private func answers(to texts: [String]) throws(PostgreSQLError) -> PostgreSQLResult {
    var ending: Ending?
    let answer = Answer(library)
    var failed: String?
    var rest = texts[...]
    while let result = try nextQueuedResult(&ending) {
      if functions.PQresultStatus(result) == PGRES_PIPELINE_SYNC {
        functions.PQclear(result)
        return try finish(answer, ending, failed)
      }
      let text = rest.popFirst() ?? ""
      if let result = answer.add(result, isSuccess: isSuccess(result)) {
        // The caller counts those of a statement that is waited for.
        if !text.isEmpty { queuedChanges += result.changedRows }
      } else if failed == nil {
        failed = text
      }
    }
    // Without the mark nothing can follow. An error that came instead tells why.
    defer { close() }
    if answer.failed != nil { return try finish(answer, ending, failed) }
    throw PostgreSQLError(.connection, isLost ? message : "the answers do not end")
  }

  /// The next result; `nil` if none follows any more. Between those of two statements there is a null pointer.
  private func nextQueuedResult(_ ending: inout Ending?) throws(PostgreSQLError) -> OpaquePointer? {
    if let result = try nextResult(&ending) { return result }
    return isLost ? nil : try nextResult(&ending)
  }

  /// Returns the last result, or throws the first error with the text of its statement.
  private func finish(
    _ answer: Answer, _ ending: Ending?, _ failed: String?
  ) throws(PostgreSQLError) -> PostgreSQLResult {
    do throws(PostgreSQLError) {
      return try finish(answer, ending)
    } catch {
      var failure = error
      // One that is waited for has no text here.
      if failed?.isEmpty == false { failure.queuedStatement = failed }
      throw failure
    }
  }
}
