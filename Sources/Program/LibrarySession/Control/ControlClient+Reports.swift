package import LibraryControl
package import PipelineModel

extension ControlClient {
  /// Hands over a request and relays its file and job events.
  ///
  /// - Returns: the result, or `nil` if the request was not begun.
  /// - Throws: `RequestFailure` if the request failed.
  package func ask(_ request: LibraryRequest, report: RunReport) throws -> RequestResult? {
    try ask(request) { event in
      switch event {
      case .file(let event): report.file(event)
      case .job(let event): report.job(event)
      case .repaired(let event): report.repaired(event)
      case .warning(let message): report.warning(message)
      case .begun, .result, .failure, .refused: break
      }
    }
  }

  /// Imports files and folders and waits for their jobs.
  ///
  /// - Returns: `nil` if the request was not begun.
  package func importPaths(_ paths: [BytePath], output: any SessionOutput) throws -> RunResult? {
    let start = ContinuousClock().now
    let report = RunReport(output)
    // The result of an import always names its run.
    guard let run = try ask(.importPaths(paths), report: report)?.run else { return nil }
    return RunResult(run: run, counts: report.counts, took: ContinuousClock().now - start)
  }
}
