/// Receives what ingest reports while it works, on the thread that runs it.
package protocol IngestReport: AnyObject {
  /// Something is about to be imported or recorded under the library's `run`, which may be started
  /// now. Does nothing by default.
  func willRecord() throws(IngestError)
  /// A path has its outcome.
  func file(_ event: FileEvent)
  /// Records were committed: stages may have work.
  func committed()
  /// The user should know something that is no path's outcome.
  func warning(_ message: String)
  /// Long work continues without an outcome; called every few thousand facts. By default nothing.
  func stillWorking()
  /// Whether the user confirms that so many files are missing; `false` by default.
  func acceptsMissing(_ description: String) -> Bool
}

extension IngestReport {
  package func acceptsMissing(_ description: String) -> Bool { false }
}

extension IngestReport {
  package func willRecord() throws(IngestError) {}
  package func stillWorking() {}
}
