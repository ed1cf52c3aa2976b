extension Schema {
  /// Version 1. Never edited once released: later versions add a migration.
  ///
  /// `docs/schema.md` describes the tables and the reason for each delete rule.
  /// “Deny” is SQLite's `NO ACTION`: unlike `RESTRICT` it lets one statement
  /// delete a parent together with everything that refers to it.
  static let version1 = """
    CREATE TABLE setting (
      key TEXT PRIMARY KEY CHECK (key <> ''),
      value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE source (
      id INTEGER PRIMARY KEY,
      path BLOB NOT NULL UNIQUE CHECK (length(path) > 0)
    ) STRICT;

    CREATE TABLE run (
      id BLOB PRIMARY KEY CHECK (length(id) = 16),
      verb TEXT NOT NULL,
      started_at INTEGER NOT NULL,
      ended_at INTEGER,
      counters TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE original (
      digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
      size INTEGER NOT NULL CHECK (size >= 0)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE asset (
      id BLOB PRIMARY KEY CHECK (length(id) = 16),
      digest BLOB NOT NULL REFERENCES original (digest) ON DELETE NO ACTION,
      name BLOB NOT NULL,
      source INTEGER NOT NULL REFERENCES source (id) ON DELETE NO ACTION,
      path BLOB NOT NULL,
      modified INTEGER NOT NULL,
      permissions INTEGER NOT NULL,
      imported_at INTEGER NOT NULL,
      trashed_at INTEGER,
      run BLOB REFERENCES run (id) ON DELETE SET NULL,
      supersedes BLOB REFERENCES asset (id) ON DELETE SET NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX asset_digest ON asset (digest);
    CREATE INDEX asset_source ON asset (source);
    CREATE INDEX asset_run ON asset (run) WHERE run IS NOT NULL;
    CREATE INDEX asset_supersedes ON asset (supersedes) WHERE supersedes IS NOT NULL;

    CREATE TABLE sighting (
      source INTEGER NOT NULL REFERENCES source (id) ON DELETE NO ACTION,
      path BLOB NOT NULL CHECK (length(path) > 0),
      state TEXT NOT NULL CHECK (state IN ('imported', 'duplicate', 'ignored', 'rejected',
        'settling', 'failed', 'gone', 'returned')),
      inode INTEGER,
      size INTEGER,
      modified INTEGER,
      changed INTEGER,
      asset BLOB REFERENCES asset (id) ON DELETE SET NULL,
      reason TEXT,
      seen_at INTEGER NOT NULL,
      awaits_removal INTEGER NOT NULL DEFAULT 0 CHECK (awaits_removal IN (0, 1)),
      PRIMARY KEY (source, path),
      CHECK ((inode IS NULL) = (size IS NULL) AND (inode IS NULL) = (modified IS NULL)
        AND (inode IS NULL) = (changed IS NULL))
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX sighting_asset ON sighting (asset) WHERE asset IS NOT NULL;
    CREATE INDEX sighting_removal ON sighting (source, path) WHERE awaits_removal = 1;

    CREATE TABLE fingerprint (
      id INTEGER PRIMARY KEY,
      value BLOB NOT NULL UNIQUE CHECK (length(value) = 32)
    ) STRICT;

    CREATE TABLE runtime (
      id INTEGER PRIMARY KEY,
      versions TEXT NOT NULL,
      limits TEXT NOT NULL,
      UNIQUE (versions, limits)
    ) STRICT;

    CREATE TABLE stage (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      plugin TEXT NOT NULL,
      fingerprint INTEGER NOT NULL REFERENCES fingerprint (id) ON DELETE NO ACTION,
      runtime INTEGER NOT NULL REFERENCES runtime (id) ON DELETE NO ACTION,
      asset_scoped INTEGER NOT NULL CHECK (asset_scoped IN (0, 1)),
      attempts INTEGER NOT NULL CHECK (attempts > 0),
      position INTEGER NOT NULL,
      active INTEGER NOT NULL CHECK (active IN (0, 1))
    ) STRICT;

    CREATE TABLE stage_need (
      stage INTEGER NOT NULL REFERENCES stage (id) ON DELETE CASCADE,
      needs INTEGER NOT NULL REFERENCES stage (id) ON DELETE CASCADE,
      PRIMARY KEY (stage, needs),
      CHECK (stage <> needs)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE ledger (
      id INTEGER PRIMARY KEY,
      fingerprint INTEGER NOT NULL REFERENCES fingerprint (id) ON DELETE NO ACTION,
      digest BLOB NOT NULL REFERENCES original (digest) ON DELETE CASCADE,
      asset BLOB REFERENCES asset (id) ON DELETE CASCADE,
      state TEXT NOT NULL CHECK (state IN ('waiting', 'ready', 'running', 'done', 'skipped',
        'failed')),
      not_before INTEGER NOT NULL DEFAULT 0,
      attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
      interruptions INTEGER NOT NULL DEFAULT 0 CHECK (interruptions >= 0),
      runtime INTEGER REFERENCES runtime (id) ON DELETE NO ACTION,
      blocked INTEGER NOT NULL DEFAULT 0 CHECK (blocked IN (0, 1)),
      class TEXT CHECK (class IN ('permanent', 'transient', 'environment')),
      reason TEXT,
      facts TEXT,
      seconds REAL,
      finished_at INTEGER,
      CHECK ((state = 'done') = (facts IS NOT NULL)),
      CHECK (state <> 'failed' OR (class IS NOT NULL AND reason IS NOT NULL)),
      CHECK (state <> 'skipped' OR reason IS NOT NULL),
      CHECK (blocked = 0 OR state = 'skipped')
    ) STRICT;
    CREATE UNIQUE INDEX ledger_key ON ledger (digest, fingerprint, ifnull(asset, x''));
    CREATE INDEX ledger_asset ON ledger (asset) WHERE asset IS NOT NULL;
    CREATE INDEX ledger_claim ON ledger (fingerprint, state, not_before);
    CREATE INDEX ledger_interrupted ON ledger (fingerprint) WHERE interruptions > 0;

    CREATE TABLE job (
      asset BLOB NOT NULL REFERENCES asset (id) ON DELETE CASCADE,
      stage INTEGER NOT NULL REFERENCES stage (id) ON DELETE NO ACTION,
      ledger INTEGER NOT NULL REFERENCES ledger (id) ON DELETE NO ACTION,
      previous_ledger INTEGER REFERENCES ledger (id) ON DELETE NO ACTION,
      PRIMARY KEY (asset, stage),
      CHECK (previous_ledger <> ledger)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX job_ledger ON job (ledger);
    CREATE INDEX job_previous ON job (previous_ledger) WHERE previous_ledger IS NOT NULL;

    CREATE TABLE attempt (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      ledger INTEGER NOT NULL REFERENCES ledger (id) ON DELETE CASCADE,
      runtime INTEGER NOT NULL REFERENCES runtime (id) ON DELETE NO ACTION,
      suspect INTEGER NOT NULL CHECK (suspect IN (0, 1)),
      started_at INTEGER NOT NULL,
      ended_at INTEGER,
      outcome TEXT CHECK (outcome IN ('done', 'skipped', 'failed', 'interrupted')),
      class TEXT CHECK (class IN ('permanent', 'transient', 'environment')),
      reason TEXT,
      seconds REAL,
      CHECK ((ended_at IS NULL) = (outcome IS NULL))
    ) STRICT;
    CREATE INDEX attempt_ledger ON attempt (ledger);
    CREATE UNIQUE INDEX attempt_open ON attempt (ledger) WHERE ended_at IS NULL;

    CREATE TABLE rendition (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      ledger INTEGER NOT NULL REFERENCES ledger (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      media_type TEXT NOT NULL,
      width INTEGER NOT NULL CHECK (width >= 0),
      height INTEGER NOT NULL CHECK (height >= 0),
      bytes INTEGER NOT NULL CHECK (bytes >= 0),
      digest BLOB NOT NULL CHECK (length(digest) = 32),
      made_from TEXT,
      path TEXT CHECK (path <> ''),
      UNIQUE (ledger, name)
    ) STRICT;
    CREATE INDEX rendition_file ON rendition (bytes) WHERE path IS NOT NULL;
    CREATE INDEX rendition_database ON rendition (bytes) WHERE path IS NULL;
    CREATE INDEX rendition_path ON rendition (path) WHERE path IS NOT NULL;

    CREATE TABLE rendition_bytes (
      rendition INTEGER PRIMARY KEY REFERENCES rendition (id) ON DELETE CASCADE,
      content BLOB NOT NULL
    ) STRICT;

    CREATE TABLE discarded_file (
      path TEXT PRIMARY KEY,
      fingerprint INTEGER NOT NULL REFERENCES fingerprint (id) ON DELETE CASCADE,
      digest BLOB NOT NULL,
      asset BLOB
    ) STRICT, WITHOUT ROWID;
    """
}
