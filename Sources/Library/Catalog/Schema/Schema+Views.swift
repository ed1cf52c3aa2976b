extension Schema {
  /// Views for use with `sqlite3`, recreated by every migration.
  ///
  /// They use only built-in functions, so that any SQLite shell from 3.37 on can
  /// read them.
  static let views = """
    CREATE VIEW asset_state AS
      SELECT asset.id AS id,
        CASE WHEN asset.trashed_at IS NOT NULL THEN 'trashed' ELSE (
          SELECT CASE max(CASE ledger.state WHEN 'failed' THEN 3 WHEN 'running' THEN 2
              WHEN 'ready' THEN 1 WHEN 'waiting' THEN 1 ELSE 0 END)
            WHEN 3 THEN 'failed' WHEN 2 THEN 'processing' WHEN 1 THEN 'ready' ELSE 'done' END
          FROM job CROSS JOIN stage ON stage.id = job.stage AND stage.active = 1
            CROSS JOIN ledger ON ledger.id = job.ledger
          WHERE job.asset = asset.id
        ) END AS state
      FROM asset;

    CREATE VIEW assets AS
      SELECT \(uuid("asset.id")) AS id,
        lower(hex(asset.digest)) AS digest,
        original.size AS size,
        CAST(asset.name AS TEXT) AS name,
        CAST(source.path AS TEXT) AS source,
        CAST(asset.path AS TEXT) AS path,
        \(nanoseconds("asset.modified")) AS modified_at,
        printf('%04o', asset.permissions) AS permissions,
        \(microseconds("asset.imported_at")) AS imported_at,
        \(microseconds("asset.trashed_at")) AS trashed_at,
        asset_state.state AS state,
        \(uuid("asset.run")) AS run,
        \(uuid("asset.supersedes")) AS supersedes,
        asset.name AS raw_name, source.path AS raw_source, asset.path AS raw_path,
        asset.id AS raw_id
      FROM asset JOIN original ON original.digest = asset.digest
        JOIN source ON source.id = asset.source
        JOIN asset_state ON asset_state.id = asset.id;

    CREATE VIEW sightings AS
      SELECT CAST(source.path AS TEXT) AS source,
        CAST(sighting.path AS TEXT) AS path,
        sighting.state AS state,
        sighting.reason AS reason,
        \(uuid("sighting.asset")) AS asset,
        sighting.inode AS inode,
        sighting.size AS size,
        \(nanoseconds("sighting.modified")) AS modified_at,
        \(nanoseconds("sighting.changed")) AS changed_at,
        \(microseconds("sighting.seen_at")) AS seen_at,
        sighting.awaits_removal AS awaits_removal,
        source.path AS raw_source, sighting.path AS raw_path
      FROM sighting JOIN source ON source.id = sighting.source
      UNION ALL
      SELECT CAST(source.path AS TEXT), CAST(asset.path AS TEXT), 'imported', NULL,
        \(uuid("asset.id")), NULL, NULL, NULL, NULL, \(microseconds("asset.imported_at")), 0,
        source.path, asset.path
      FROM asset JOIN source ON source.id = asset.source
      WHERE \(ImpliedSighting.condition);

    CREATE VIEW jobs AS
      SELECT \(uuid("job.asset")) AS asset,
        CAST(asset.name AS TEXT) AS name,
        stage.name AS stage,
        ledger.state AS state,
        ledger.attempts + ledger.interruptions AS attempts,
        \(StageHold.failureClass) AS class,
        \(StageHold.reason) AS reason,
        ledger.seconds AS seconds,
        \(microseconds("ledger.finished_at")) AS finished_at,
        \(microseconds("nullif(ledger.not_before, 0)")) AS not_before,
        lower(hex(fingerprint.value)) AS fingerprint,
        job.ledger AS ledger,
        job.previous_ledger AS previous_ledger,
        job.asset AS raw_asset
      FROM job JOIN asset ON asset.id = job.asset
        JOIN stage ON stage.id = job.stage AND stage.active = 1
        JOIN ledger ON ledger.id = job.ledger
        JOIN fingerprint ON fingerprint.id = ledger.fingerprint;

    CREATE VIEW renditions AS
      SELECT \(uuid("job.asset")) AS asset,
        stage.name AS stage,
        rendition.name AS name,
        rendition.media_type AS media_type,
        rendition.width AS width, rendition.height AS height, rendition.bytes AS bytes,
        lower(hex(rendition.digest)) AS digest,
        rendition.made_from AS made_from,
        CASE WHEN rendition.path IS NULL THEN 'database' ELSE 'file' END AS storage,
        rendition.path AS path,
        rendition.ledger <> job.ledger AS stale,
        rendition.id AS id,
        job.asset AS raw_asset
      FROM job JOIN stage ON stage.id = job.stage AND stage.active = 1
        JOIN rendition ON rendition.ledger IN (job.ledger, job.previous_ledger);

    CREATE VIEW attempts AS
      SELECT \(uuid("job.asset")) AS asset,
        stage.name AS stage,
        attempt.id AS id,
        \(microseconds("attempt.started_at")) AS started_at,
        \(microseconds("attempt.ended_at")) AS ended_at,
        coalesce(attempt.outcome, 'running') AS outcome,
        attempt.class AS class, attempt.reason AS reason, attempt.seconds AS seconds,
        attempt.suspect AS suspect,
        runtime.versions AS runtime, runtime.limits AS limits,
        job.asset AS raw_asset
      FROM job JOIN stage ON stage.id = job.stage AND stage.active = 1
        JOIN attempt ON attempt.ledger = job.ledger
        JOIN runtime ON runtime.id = attempt.runtime;

    CREATE VIEW facts AS
      SELECT \(uuid("job.asset")) AS asset,
        stage.name AS stage,
        fact.key AS key,
        fact.value AS value,
        fact.type AS type,
        job.asset AS raw_asset
      FROM job JOIN stage ON stage.id = job.stage AND stage.active = 1
        JOIN ledger ON ledger.id = job.ledger
        JOIN json_each(ledger.facts) AS fact;

    CREATE VIEW metadata AS
      SELECT \(uuid("job.asset")) AS asset,
        stage.name AS stage,
        family.key AS family,
        tag.key AS name,
        CASE tag.type WHEN 'array' THEN item.key + 1 END AS ordinal,
        CASE tag.type WHEN 'object' THEN item.key END AS language,
        CASE WHEN tag.type IN ('array', 'object') THEN item.value ELSE tag.value END AS value,
        job.asset AS raw_asset
      FROM stage JOIN job ON job.stage = stage.id
        JOIN ledger ON ledger.id = job.ledger
        JOIN json_each(ledger.facts) AS family ON family.type = 'object'
        JOIN json_each(family.value) AS tag
        JOIN json_each(CASE WHEN tag.type IN ('array', 'object') THEN tag.value ELSE '[0]' END)
          AS item
      WHERE stage.plugin = 'metadata' AND stage.active = 1;

    CREATE VIEW annotations AS
      SELECT \(uuid("asset")) AS asset, property, text, applies, asset AS raw_asset
      FROM annotation;

    CREATE VIEW failures AS
      SELECT asset, name, stage, class, reason, attempts, finished_at, raw_asset
      FROM jobs WHERE state = 'failed' OR (state = 'ready' AND class IS NOT NULL);

    CREATE VIEW runs AS
      SELECT \(uuid("run.id")) AS id,
        run.verb AS verb,
        \(microseconds("run.started_at")) AS started_at,
        \(microseconds("run.ended_at")) AS ended_at,
        run.counters AS counters,
        run.id AS raw_id
      FROM run;
    """

  /// Formats a UUID as text; `NULL` for `NULL`.
  static func uuid(_ key: String) -> String {
    "CASE WHEN \(key) IS NOT NULL THEN lower(\(dashed("hex(\(key))"))) END"
  }

  /// Inserts the dashes into the 32 digits of a UUID.
  static func dashed(_ digits: String) -> String {
    [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)]
      .map { "substr(\(digits), \($0.0), \($0.1))" }.joined(separator: " || '-' || ")
  }

  /// Formats microseconds since 1970 as RFC 3339.
  private static func microseconds(_ column: String) -> String {
    "strftime('%Y-%m-%dT%H:%M:%fZ', \(column) / 1000000.0, 'unixepoch')"
  }

  /// Formats nanoseconds since 1970 as RFC 3339.
  private static func nanoseconds(_ column: String) -> String {
    // With integers, because SQLite would round the milliseconds of a fraction.
    "strftime('%Y-%m-%dT%H:%M:%S', \(column) / 1000000000, 'unixepoch')"
      + " || printf('.%03dZ', \(column) / 1000000 % 1000)"
  }
}
