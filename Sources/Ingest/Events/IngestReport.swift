/// What ingest tells while it works; called on the thread that runs it.
package protocol IngestReport: AnyObject {
  /// Something is about to be taken or recorded; what comes of it belongs to the
  /// library's `run`, which may be begun now. By default nothing is done.
  func willRecord() throws(IngestError)
  /// A path got its outcome.
  func file(_ event: FileEvent)
  /// Records were committed: stages may have work.
  func committed()
  /// Something that the user should know and that is no path's outcome.
  func warning(_ message: String)
  /// Long work goes on without an outcome: told every few thousand facts. By default nothing is
  /// done.
  func goesOn()
  /// Whether the user means it that so many files are missing; not by default.
  func acceptsMissing(_ description: String) -> Bool
}

extension IngestReport {
  package func acceptsMissing(_ description: String) -> Bool { false }
}

extension IngestReport {
  package func willRecord() throws(IngestError) {}
  package func goesOn() {}
}
