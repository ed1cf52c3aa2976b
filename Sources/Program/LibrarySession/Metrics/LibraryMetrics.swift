import Catalog
import Glibc
package import Ingest
package import PipelineModel
import Records

/// What a library's catalog and disk tell a monitoring system, by the names of `docs/metrics.md`.
///
/// Labels are names of stages, folders of sources, and words of this program, so that no picture adds to
/// them.
package struct LibraryMetrics {
  private let status: StatusCounts
  private let counts: MetricCounts
  private let age: Duration?
  private let disk: LibraryDisk
  private let damagedAssets: Int
  private let sources: [BytePath]
  private let reserve: Int

  /// - Parameters:
  ///   - counts: what was counted earlier; by default everything is counted now.
  ///   - age: how long ago that was, if something changed since, else zero; `nil` to say nothing of it.
  ///   - sources: the folders of the configured sources.
  ///   - reserve: the space that is always left free, in bytes.
  package init(
    of library: ReadableLibrary, _ counts: LibraryCounts? = nil, age: Duration? = nil,
    sources: [BytePath], reserve: Int
  ) throws {
    let counts = try counts ?? LibraryCounts(of: library.catalog)
    (status, self.counts) = (counts.status, counts.metrics)
    self.age = age
    disk = try LibraryDisk(of: library)
    damagedAssets = try library.damage().count
    self.sources = sources
    self.reserve = reserve
  }

  package func write(to text: inout MetricText) {
    text.add(
      "pipeline_build_info", .gauge, "The version of the program",
      [.init(["version": programVersion], .count(1))])
    writeAssets(to: &text)
    writePaths(to: &text)
    writeJobs(to: &text)
    writeLastRun(to: &text)
    text.add(
      "pipeline_counts_age_seconds", .gauge,
      "Seconds since the library was counted, 0 if nothing changed since",
      age.map { .measure($0 / .seconds(1)) })
    // Some file systems have no limit that they tell of.
    text.add(
      "pipeline_library_free_bytes", .gauge, "Free space on the library's file system",
      disk.free == .max ? nil : disk.free)
    text.add(
      "pipeline_library_reserve_bytes", .gauge,
      "Space that is left free; no more files are imported below it", reserve)
    // The process that asks may be about to release the library.
    text.add(
      "pipeline_library_held", .gauge, "Whether another process works on the library",
      disk.holder.map { $0 == Int(getpid()) ? 0 : 1 } ?? 0)
  }

  private func writeAssets(to text: inout MetricText) {
    var states = counts.unfinished
    states[.done] = status.assets - counts.unfinished.values.reduce(0, +)
    states[.trashed] = counts.trashed
    text.add("pipeline_assets", .gauge, "Assets by state", Self.all(states))
    text.add(
      "pipeline_damaged_assets", .gauge,
      "Assets that verify found missing or damaged and nothing changed since", damagedAssets)
    text.add("pipeline_originals", .gauge, "Originals", status.originals)
    text.add(
      "pipeline_original_bytes", .gauge, "Bytes of all originals", status.originalBytes)
    text.add("pipeline_renditions", .gauge, "Renditions", status.renditions)
    text.add(
      "pipeline_rendition_bytes", .gauge, "Bytes of all renditions", status.renditionBytes)
    text.add(
      "pipeline_renditions_made_total", .counter, "Renditions ever made in this catalog",
      counts.renditionsMade)
  }

  private func writePaths(to text: inout MetricText) {
    text.add(
      "pipeline_paths", .gauge, "Paths ever seen by state", Self.all(status.sightings))
    text.add(
      "pipeline_paths_on_disk", .gauge, "Paths with an expected file by source and state",
      sources.flatMap { source in
        Sighting.State.allCases.map { state in
          .init(
            ["source": source.description, "state": state.rawValue],
            .count(status.pathsOnDisk[source]?[state] ?? 0))
        }
      })
  }

  private func writeJobs(to text: inout MetricText) {
    let stages = status.jobs.sorted { $0.key < $1.key }
    text.add(
      "pipeline_jobs", .gauge, "Jobs of configured stages by state",
      stages.flatMap { stage, states in
        LedgerState.allCases.map { state in
          .init(["stage": stage, "state": state.rawValue], .count(states[state] ?? 0))
        }
      })
    text.add(
      "pipeline_job_failures", .gauge, "Jobs that failed or whose stage waits, by class",
      stages.flatMap { stage, _ in
        ["environment", "permanent", "transient"].map { failureClass in
          .init(
            ["stage": stage, "class": failureClass],
            .count(counts.failures[stage]?[failureClass] ?? 0))
        }
      })
    text.add(
      "pipeline_job_attempts_total", .counter, "Attempts at jobs ever begun in this catalog",
      counts.attemptsBegun)
  }

  private func writeLastRun(to text: inout MetricText) {
    guard let run = status.lastRun, let end = run.endedAt else { return }
    text.add(
      "pipeline_last_run_start_timestamp_seconds", .gauge, "When the last ended run began",
      .measure(run.startedAt.seconds))
    text.add(
      "pipeline_last_run_end_timestamp_seconds", .gauge, "When the last ended run ended",
      .measure(end.seconds))
    text.add(
      "pipeline_last_run_duration_seconds", .gauge, "How long the last ended run took",
      .measure(max(0, end.seconds - run.startedAt.seconds)))
    // A run that is known only from the journal has none.
    guard !run.counters.isEmpty else { return }
    text.add(
      "pipeline_last_run_success", .gauge, "Whether nothing failed in the last ended run",
      RunCounts.areSuccess(run.counters) ? 1 : 0)
    func samples(_ outcomes: KeyValuePairs<String, String>) -> [MetricText.Sample] {
      outcomes.map { .init(["outcome": $0.key], .count(run.counters[$0.value] ?? 0)) }
    }
    text.add(
      "pipeline_last_run_files", .gauge, "Paths seen in the last ended run by outcome",
      samples([
        "imported": "imported", "duplicate": "duplicates", "ignored": "ignored",
        "rejected": "rejected", "settling": "settling", "failed": "failed", "gone": "gone",
      ]))
    text.add(
      "pipeline_last_run_jobs", .gauge, "Jobs ended in the last ended run by outcome",
      samples(["done": "jobsDone", "skipped": "jobsSkipped", "failed": "jobsFailed"]))
    text.add(
      "pipeline_last_run_bytes", .gauge, "Bytes stored in the last ended run",
      run.counters["bytes"])
  }

  /// A sample for each state, also for those that nothing is in.
  private static func all<State: CaseIterable & RawRepresentable<String> & Hashable>(
    _ counts: [State: Int]
  ) -> [MetricText.Sample] {
    State.allCases.map { .init(["state": $0.rawValue], .count(counts[$0] ?? 0)) }
  }
}

/// What a verification found, for a file of its own.
package struct VerificationMetrics {
  private let outcome: VerificationOutcome
  private let problems: Int
  private let repaired: Int
  private let time: Timestamp

  /// - Parameter time: when it ended.
  package init(_ outcome: VerificationOutcome, problems: Int, repaired: Int, at time: Timestamp) {
    self.outcome = outcome
    self.problems = problems
    self.repaired = repaired
    self.time = time
  }

  package func write(to text: inout MetricText) {
    text.add(
      "pipeline_last_verify_timestamp_seconds", .gauge, "When the last verification ended",
      .measure(time.seconds))
    text.add(
      "pipeline_last_verify_complete", .gauge,
      "Whether the last verification came to the end of the library", outcome.isComplete ? 1 : 0)
    text.add(
      "pipeline_last_verify_checked_files", .gauge, "Files that the last verification read",
      outcome.checked)
    text.add(
      "pipeline_verify_problems", .gauge,
      "Problems that the last verification found and did not repair", problems - repaired)
    text.add(
      "pipeline_verify_repaired", .gauge, "Problems that the last verification repaired", repaired)
  }
}

extension Timestamp {
  /// Seconds since 1970.
  package var seconds: Double { Double(microseconds) / 1_000_000 }
}
