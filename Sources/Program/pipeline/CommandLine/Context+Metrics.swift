import Files
import LibrarySession

extension Context {
  /// The file for metrics, if one was asked for.
  ///
  /// - Throws: `UsageError` if its folder does not exist, before any work is done.
  func metricsFile() throws(UsageError) -> MetricsFile? {
    guard let typed = arguments.path(.metrics) else { return nil }
    do throws(FileError) {
      return try MetricsFile(path(typed))
    } catch {
      throw UsageError(error.message, verb: arguments.verb)
    }
  }

  /// Writes metrics at the end of a verb.
  ///
  /// - Returns: the verb's exit code, which becomes that of a failure if nothing else failed.
  func write(
    to file: MetricsFile?, ending code: ExitCode, _ body: (inout MetricText) throws -> Void
  ) -> ExitCode {
    guard let file else { return code }
    do {
      var text = MetricText()
      try body(&text)
      try file.replace(with: text)
      return code
    } catch {
      console.failure(error)
      return code == .success ? .someFailed : code
    }
  }
}
