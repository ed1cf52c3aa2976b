package import Records

/// Which process takes files from a source that several machines reach, or under the name of a machine.
extension Catalog {
  /// The name by which that of a machine is held. No source has such a name.
  package static func nameOfMachine(_ machine: String) -> String { "//\(machine)" }

  /// Holds a source for this process, until that ends or is taken for gone.
  ///
  /// - Returns: the machine that holds it instead; `nil` if this process does.
  package func hold(_ source: String) throws(CatalogError) -> String? {
    guard isOnServer else { return nil }
    let own = try access.sync { (writer) throws(CatalogError) in writer.participation?.id ?? 0 }
    if try isHeld(source, by: own) { return nil }
    return try write { (writer) throws(CatalogError) in
      let own = writer.participation?.id ?? 0
      try writer.connection.execute(
        """
        INSERT INTO held_source (name, participant) VALUES (?1, ?2)
        ON CONFLICT (name) DO UPDATE SET participant = ?2
        WHERE NOT EXISTS (SELECT 1 FROM participant
          WHERE participant.id = held_source.participant AND \(PostgreSQLSchema.isLive)
            AND NOT \(PostgreSQLSchema.isGone))
        """, source, own)
      return try writer.connection.first(
        """
        SELECT node FROM held_source JOIN participant ON participant.id = held_source.participant
        WHERE name = ? AND participant.id <> ?
        """, source, own
      ) { $0.text(0) }
    }
  }

  /// Whether a process that asks for something holds a source.
  package func isHeld(_ source: String, by participant: Int64) throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      try connection.hasRow(
        """
        SELECT 1 FROM held_source JOIN participant ON participant.id = held_source.participant
        WHERE name = ? AND participant.id = ? AND \(PostgreSQLSchema.isLive)
        """, source, participant)
    }
  }
}
