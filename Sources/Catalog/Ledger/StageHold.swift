/// The effect of a held stage on its ready rows, in SQL over `stage` and `ledger`.
enum StageHold {
  static let failureClass = """
    CASE WHEN ledger.state = 'ready' AND stage.held IS NOT NULL THEN 'environment' \
    ELSE ledger.class END
    """
  static let reason = """
    CASE WHEN ledger.state = 'ready' AND stage.held IS NOT NULL THEN stage.held \
    ELSE ledger.reason END
    """
  /// Whether a row counts as failed: permanently, for now, or because its stage is held.
  static let isFailure = """
    (ledger.state = 'failed' OR ledger.state = 'ready' \
    AND (ledger.class IS NOT NULL OR stage.held IS NOT NULL))
    """
}
