extension Catalog {
  /// Returns files of renditions that nothing refers to any more, as paths below
  /// the library, and takes them off the list: they are the caller's to remove.
  package func takeDiscardedFiles() throws(CatalogError) -> [String] {
    try write { (writer) throws(CatalogError) in try writer.takeDiscardedFiles() }
  }

  /// Lets go of what stages made that are no longer configured.
  ///
  /// What a configured stage shares with them stays. A stage that is configured
  /// again does its work again.
  ///
  /// - Returns: how many renditions went.
  package func dropFormerStages() throws(CatalogError) -> Int {
    try write { (writer) throws(CatalogError) in
      let before = try writer.connection.renditionCount()
      try writer.connection.execute(
        """
        INSERT INTO temp.doomed (ledger)
        SELECT job.ledger FROM stage JOIN job ON job.stage = stage.id WHERE stage.active = 0
        UNION SELECT job.previous_ledger FROM stage JOIN job ON job.stage = stage.id
        WHERE stage.active = 0 AND job.previous_ledger IS NOT NULL
        """)
      try writer.connection.execute(
        "DELETE FROM job WHERE stage IN (SELECT id FROM stage WHERE active = 0)")
      try writer.discardDoomed()
      return before - (try writer.connection.renditionCount())
    }
  }
}

extension Connection {
  fileprivate func renditionCount() throws(CatalogError) -> Int {
    try first("SELECT count(*) FROM rendition") { $0.int(0) } ?? 0
  }
}
