package import Records

/// This process among those that change the catalog.
extension Catalog {
  /// Sets what is called, on any thread, when something happens to participants.
  package func listen(_ body: @escaping @Sendable (ParticipantNews) -> Void) {
    listener.listen(body)
  }

  /// Tells others that this process claims nothing more.
  package func drain() throws(CatalogError) {
    try access.sync { (writer) throws(CatalogError) in writer.participation }?.drain()
  }

  /// Whether this process is to claim nothing more, as it said itself or was told by `pipeline nodes drain`.
  package var isDraining: Bool {
    get throws(CatalogError) {
      try access.sync { (writer) throws(CatalogError) in writer.participation?.isDraining ?? false }
    }
  }

  /// Tells processes that work beside the one with the library's lock to claim nothing more.
  ///
  /// - Parameter name: the name of their machine, or the number of one of them, in hexadecimal digits.
  /// - Returns: who was told now or before.
  package static func drain(
    _ name: String, of place: CatalogPlace
  ) throws(CatalogError) -> [ParticipantRecord] {
    guard case .database(let address) = place else { return [] }
    let reader = try CatalogReader.open(at: place, immutable: false)
    defer { try? reader.close() }
    let chosen = try reader.participants().filter {
      $0.isLive && !$0.isTaker && ($0.node == name || $0.text == name)
    }
    let connection = Connection(try PostgreSQLDriver(address, role: .reading), place)
    defer { connection.close() }
    for participant in chosen {
      try connection.execute(
        "UPDATE participant SET state = 'draining' WHERE id = ? AND state = 'active'",
        participant.id)
    }
    return chosen
  }

  /// Begins to look for participants that are gone.
  func beginAttending() throws(CatalogError) {
    let participation = try access.sync { (writer) throws(CatalogError) in writer.participation }
    try participation?.begin { [weak self] finding in
      guard let self else { return false }
      // The next look finds what this one could not deal with.
      if finding.hasReadyJobs { listener.hear(.readyJobs) }
      if finding.isExpired { try? write { _ in } }
      if !finding.departed.isEmpty { try? rescue(finding.departed) }
      return true
    }
  }

  /// Ends participants that are gone, and their attempts, whose jobs are then ready again. One that was asked to end has done
  /// so, as far as anybody knows.
  func rescue(_ departed: [Int64]) throws(CatalogError) {
    let (nodes, failed) = try write { (writer) throws(CatalogError) in
      var nodes: [String] = []
      for id in departed where id != 0 {
        let ended = try writer.connection.first(
          """
          UPDATE participant SET state = CASE state WHEN 'draining' THEN 'ended' ELSE 'expired' END
          WHERE id = ? AND \(PostgreSQLSchema.isLive) AND \(PostgreSQLSchema.isGone) RETURNING node
          """, id
        ) { $0.text(0) }
        if let ended { nodes.append(ended) }
      }
      // What it was about to claim is due all the time, and those who saw that it had it wait for news.
      if !nodes.isEmpty {
        try writer.connection.executeScript(PostgreSQLSchema.notify)
      }
      return (nodes, try writer.endInterruptedAttempts(writer.stages))
    }
    listener.hear(.departed(nodes, failed: failed))
  }
}
