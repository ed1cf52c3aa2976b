/// The processes that change a catalog together.
extension PostgreSQLSchema {
  /// The table of processes, and which of them made an attempt.
  ///
  /// No foreign key: a process that did nothing of late is forgotten, its attempts are not. `mark` is what `last_commit` is
  /// for those who have the lock.
  static let participants = """
    CREATE TABLE participant (
      id bigint PRIMARY KEY CHECK (id > 0),
      taker boolean NOT NULL,
      node text COLLATE "C" NOT NULL,
      process bigint NOT NULL,
      verb text COLLATE "C" NOT NULL,
      version text COLLATE "C" NOT NULL,
      state text COLLATE "C" NOT NULL CHECK (state IN ('active', 'draining', 'ended', 'expired')),
      joined_at timestamptz NOT NULL,
      renewed_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      jobs bigint NOT NULL DEFAULT 0,
      mark text COLLATE "C" NOT NULL DEFAULT ''
    ) WITH (fillfactor = 50);
    ALTER TABLE attempt ADD COLUMN participant bigint;
    """

  /// What machines ask the process that has the library's lock for, and what they can't do.
  ///
  /// A request that was begun is not taken back: it may have been performed. `held_source` says who takes files from a
  /// source that several machines reach. `held` has the reasons why stages are not worked on, by their names.
  static let requests = """
    CREATE TABLE request (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      participant bigint NOT NULL,
      body text COLLATE "C" NOT NULL,
      asked_at timestamptz NOT NULL,
      begun boolean NOT NULL DEFAULT FALSE,
      answer text COLLATE "C"
    );
    CREATE TABLE held_source (name text COLLATE "C" PRIMARY KEY, participant bigint NOT NULL);
    CREATE INDEX request_open ON request (id) WHERE answer IS NULL;
    ALTER TABLE participant ADD COLUMN held text COLLATE "C" NOT NULL DEFAULT '{}';

    """

  /// Who waits for jobs listens on this channel.
  static let channel = "pipeline"

  /// Tells them to look, once the transaction is committed.
  static let notify = "NOTIFY \(channel)"

  /// Triggers that tell others when jobs become ready. The server passes on one notification for each transaction.
  static let readyTriggers =
    trigger("ready_new", "AFTER INSERT ON ledger", when: "NEW.state = 'ready'", tellReady)
    + trigger(
      "ready_again", "AFTER UPDATE OF state ON ledger",
      when: "OLD.state <> NEW.state AND NEW.state = 'ready'", tellReady)

  private static let tellReady = "PERFORM pg_notify('\(channel)', '');"

  /// SQL over `participant`: whether it is taken to be at work.
  static let isLive = "participant.state IN ('active', 'draining')"

  /// SQL for the participants whose connection is there. Other programs' keys may be negative: a product would overflow.
  static let present = """
    SELECT int8shl(CAST(classid AS bigint), 32) + CAST(objid AS bigint) FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    """

  /// SQL over `participant`: whether it is gone, though taken to be at work.
  static let isGone = "(expires_at < clock_timestamp() OR participant.id NOT IN (\(present)))"
}
