extension PostgreSQLSchema {
  /// Views for use with `psql`, with the names, columns and texts of SQLite's.
  ///
  /// Values of facts are texts, as a column has one type. A name that is not UTF-8 is shown with its other bytes
  /// as octal numbers.
  static let views = """
    CREATE VIEW asset_state AS
      SELECT asset.id AS id,
        CASE WHEN asset.trashed_at IS NOT NULL THEN 'trashed' ELSE (
          SELECT CASE max(CASE ledger.state WHEN 'failed' THEN 3 WHEN 'running' THEN 2
              WHEN 'ready' THEN 1 WHEN 'waiting' THEN 1 ELSE 0 END)
            WHEN 3 THEN 'failed' WHEN 2 THEN 'processing' WHEN 1 THEN 'ready' ELSE 'done' END
          FROM job JOIN stage ON stage.id = job.stage AND stage.active
            JOIN ledger ON ledger.id = job.ledger
          WHERE job.asset = asset.id
        ) END AS state
      FROM asset;

    CREATE VIEW assets AS
      SELECT \(uuid("asset.id")) AS id,
        encode(asset.digest, 'hex') AS digest,
        original.size AS size,
        \(text("asset.name")) AS name,
        \(text("source.path")) AS source,
        \(text("asset.path")) AS path,
        \(nanoseconds("asset.modified")) AS modified_at,
        \(octal("asset.permissions")) AS permissions,
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
      SELECT \(text("source.path")) AS source,
        \(text("sighting.path")) AS path,
        sighting.state AS state,
        sighting.reason AS reason,
        \(uuid("sighting.asset")) AS asset,
        sighting.inode AS inode,
        sighting.size AS size,
        \(nanoseconds("sighting.modified")) AS modified_at,
        \(nanoseconds("sighting.changed")) AS changed_at,
        \(microseconds("sighting.seen_at")) AS seen_at,
        sighting.awaits_removal::integer AS awaits_removal,
        source.path AS raw_source, sighting.path AS raw_path
      FROM sighting JOIN source ON source.id = sighting.source
      UNION ALL
      SELECT \(text("source.path")), \(text("asset.path")), 'imported', NULL,
        \(uuid("asset.id")), NULL, NULL, NULL, NULL, \(microseconds("asset.imported_at")), 0,
        source.path, asset.path
      FROM asset JOIN source ON source.id = asset.source
      WHERE \(ImpliedSighting.condition);

    CREATE VIEW jobs AS
      SELECT \(uuid("job.asset")) AS asset,
        \(text("asset.name")) AS name,
        stage.name AS stage,
        ledger.state AS state,
        ledger.attempts + ledger.interruptions AS attempts,
        \(StageHold.failureClass) AS class,
        \(StageHold.reason) AS reason,
        ledger.seconds AS seconds,
        \(microseconds("ledger.finished_at")) AS finished_at,
        \(microseconds("nullif(ledger.not_before, 0)")) AS not_before,
        encode(fingerprint.value, 'hex') AS fingerprint,
        job.ledger AS ledger,
        job.previous_ledger AS previous_ledger,
        job.asset AS raw_asset
      FROM job JOIN asset ON asset.id = job.asset
        JOIN stage ON stage.id = job.stage AND stage.active
        JOIN ledger ON ledger.id = job.ledger
        JOIN fingerprint ON fingerprint.id = ledger.fingerprint;

    CREATE VIEW renditions AS
      SELECT \(uuid("job.asset")) AS asset,
        stage.name AS stage,
        rendition.name AS name,
        rendition.media_type AS media_type,
        rendition.width AS width, rendition.height AS height, rendition.bytes AS bytes,
        encode(rendition.digest, 'hex') AS digest,
        rendition.made_from AS made_from,
        CASE WHEN rendition.path IS NULL THEN 'database' ELSE 'file' END AS storage,
        rendition.path AS path,
        (rendition.ledger <> job.ledger)::integer AS stale,
        rendition.id AS id,
        job.asset AS raw_asset
      FROM job JOIN stage ON stage.id = job.stage AND stage.active
        JOIN rendition ON rendition.ledger IN (job.ledger, job.previous_ledger);

    CREATE VIEW attempts AS
      SELECT \(uuid("job.asset")) AS asset,
        stage.name AS stage,
        attempt.id AS id,
        \(microseconds("attempt.started_at")) AS started_at,
        \(microseconds("attempt.ended_at")) AS ended_at,
        coalesce(attempt.outcome, 'running') AS outcome,
        attempt.class AS class, attempt.reason AS reason, attempt.seconds AS seconds,
        attempt.suspect::integer AS suspect,
        runtime.versions AS runtime, runtime.limits AS limits,
        job.asset AS raw_asset
      FROM job JOIN stage ON stage.id = job.stage AND stage.active
        JOIN attempt ON attempt.ledger = job.ledger
        JOIN runtime ON runtime.id = attempt.runtime;

    CREATE VIEW facts AS
      SELECT \(uuid("job.asset")) AS asset,
        stage.name AS stage,
        fact.key AS key,
        \(value("fact.value")) AS value,
        \(type("fact.value")) AS type,
        job.asset AS raw_asset
      FROM job JOIN stage ON stage.id = job.stage AND stage.active
        JOIN ledger ON ledger.id = job.ledger
        CROSS JOIN LATERAL pg_catalog.json_each(pipeline_json(ledger.facts)) AS fact;

    CREATE VIEW metadata AS
      SELECT \(uuid("job.asset")) AS asset,
        stage.name AS stage,
        family.key AS family,
        tag.key AS name,
        CASE json_typeof(tag.value) WHEN 'array' THEN item.key::bigint + 1 END AS ordinal,
        CASE json_typeof(tag.value) WHEN 'object' THEN item.key END AS language,
        \(value("item.value")) AS value,
        job.asset AS raw_asset
      FROM stage JOIN job ON job.stage = stage.id
        JOIN ledger ON ledger.id = job.ledger
        CROSS JOIN LATERAL pg_catalog.json_each(pipeline_json(ledger.facts)) AS family
        CROSS JOIN LATERAL pg_catalog.json_each(
          CASE json_typeof(family.value) WHEN 'object' THEN family.value ELSE '{}' END) AS tag
        CROSS JOIN LATERAL (
          SELECT (list.position - 1)::text AS key, list.value AS value
            FROM json_array_elements(
              CASE json_typeof(tag.value) WHEN 'array' THEN tag.value ELSE '[]' END)
              WITH ORDINALITY AS list (value, position)
          UNION ALL SELECT object.key, object.value FROM pg_catalog.json_each(
              CASE json_typeof(tag.value) WHEN 'object' THEN tag.value ELSE '{}' END) AS object
          UNION ALL SELECT NULL, tag.value WHERE json_typeof(tag.value) NOT IN ('array', 'object')
        ) AS item
      WHERE stage.plugin = 'metadata' AND stage.active;

    CREATE VIEW annotations AS
      SELECT \(uuid("asset")) AS asset, property, text, applies::integer AS applies,
        asset AS raw_asset
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

  /// Formats a UUID as text.
  static func uuid(_ key: String) -> String { "encode(\(key), 'hex')::uuid::text" }

  private static func text(_ bytes: String) -> String {
    "coalesce(pipeline_text(\(bytes)), encode(\(bytes), 'escape'))"
  }

  /// A value of JSON as SQLite shows it: a Boolean is 0 or 1.
  private static func value(_ json: String) -> String {
    """
    CASE json_typeof(\(json)) WHEN 'boolean' THEN CASE \(json)::text WHEN 'true' THEN '1' ELSE '0' END
      ELSE \(json) #>> '{}' END
    """
  }

  /// The name of a value's type as SQLite writes it.
  private static func type(_ json: String) -> String {
    """
    CASE json_typeof(\(json)) WHEN 'string' THEN 'text' WHEN 'boolean' THEN \(json)::text
      WHEN 'number' THEN CASE WHEN \(json)::text ~ '[.eE]' THEN 'real' ELSE 'integer' END
      ELSE json_typeof(\(json)) END
    """
  }

  /// The last four digits of a number to the base of eight.
  private static func octal(_ number: String) -> String {
    [9, 6, 3, 0].map { "(\(number) >> \($0) & 7)::text" }.joined(separator: " || ")
  }

  /// Formats microseconds since 1970 as RFC 3339, rounded as SQLite's `strftime` rounds them: it adds the number of
  /// Julian days to them as a floating-point number, which has few bits left for half a millisecond.
  ///
  /// Source: `setRawDateNumber` and `computeJD` in SQLite's date.c.
  static func microseconds(_ column: String) -> String {
    """
    to_char(timestamp 'epoch' + interval '1 millisecond' * (floor(
        \(column)::float8 / 1000000 * 1000 + 210866760000000::float8 + 0.5::float8)::bigint - 210866760000000),
      'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    """
  }

  /// Formats nanoseconds since 1970 as RFC 3339.
  private static func nanoseconds(_ column: String) -> String {
    """
    to_char(timestamp 'epoch' + \(column) / 1000000000 * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS')
      || to_char(\(column) / 1000000 % 1000, '"."FM000"Z"')
    """
  }
}
