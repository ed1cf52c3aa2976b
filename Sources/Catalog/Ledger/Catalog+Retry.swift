package import PipelineModel

extension Catalog {
  package func retry(assets: [AssetID]?) throws(CatalogError) -> Int {
    try write { (writer) throws(CatalogError) in
      for asset in assets ?? [] {
        try writer.connection.execute(
          "INSERT INTO temp.chosen (asset) VALUES (?) ON CONFLICT DO NOTHING", asset)
      }
      try writer.connection.execute(
        """
        INSERT INTO temp.retried (ledger)
        SELECT DISTINCT ledger.id FROM stage
          CROSS JOIN ledger INDEXED BY ledger_claim
            ON ledger.fingerprint = stage.fingerprint AND ledger.state IN ('failed', 'ready')
              AND (ledger.state = 'failed' OR ledger.class IS NOT NULL)
        WHERE stage.active = 1 AND (?1 OR EXISTS (
          SELECT 1 FROM job WHERE job.ledger = ledger.id
            AND job.asset IN (SELECT asset FROM temp.chosen)))
        """, assets == nil)
      try writer.connection.execute(
        """
        INSERT INTO temp.touched (digest)
        SELECT DISTINCT ledger.digest FROM temp.retried JOIN ledger ON ledger.id = retried.ledger
        """)
      let count = try writer.connection.execute(
        """
        UPDATE ledger SET state = 'waiting', not_before = 0, attempts = 0, interruptions = 0,
          class = NULL, reason = NULL, finished_at = NULL
        WHERE id IN (SELECT ledger FROM temp.retried)
        """)
      try writer.connection.execute("DELETE FROM temp.retried")
      try writer.connection.execute("DELETE FROM temp.chosen")
      try writer.settleTouched(writer.stages)
      return count
    }
  }
}
