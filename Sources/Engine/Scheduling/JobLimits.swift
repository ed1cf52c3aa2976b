import Catalog
import Configuration
import PipelineModel
import PipelinePlugin

/// The stage limits that are checked before a job starts and on its results.
struct JobLimits {
  let limits: StageLimits

  /// Returns why a job may not start, or `nil`.
  ///
  /// - Parameters:
  ///   - identity: the facts of `identify`, if the job has them.
  ///   - memory: the bytes that the job will need.
  func refusal(of job: ClaimedJob, identity: JSONValue?, memory: Int) -> PluginFailure? {
    if let most = limits.inputBytes?.bytes, job.size > most {
      return refuse("file", ByteSize(bytes: job.size), .inputBytes, ByteSize(bytes: most))
    }
    if let most = limits.memory?.bytes, memory > most {
      return PluginFailure(
        .permanent,
        "It needs about \(ByteSize(bytes: memory)) of memory, more than the stage's limit of "
          + "\(ByteSize(bytes: most))." + StageLimits.remedy(.memory))
    }
    let frames = identity?["pages"]?.integer ?? 1
    if let most = limits.frames, frames > most {
      return PluginFailure(
        .permanent,
        "It has \(frames) frames, more than the stage's limit of \(most)."
          + StageLimits.remedy(.frames))
    }
    if let most = limits.pixels, let width = identity?["width"]?.integer,
      let height = identity?["height"]?.integer
    {
      let (area, overflow) = width.multipliedReportingOverflow(by: height)
      let (pixels, more) = area.multipliedReportingOverflow(by: frames)
      if overflow || more || pixels > most {
        return PluginFailure(
          .permanent,
          "It has \(width) x \(height) pixels in \(frames) frames, more than the stage's limit of "
            + "\(most) pixels." + StageLimits.remedy(.pixels))
      }
    }
    return nil
  }

  /// Returns why a job's output exceeds a limit, or `nil`.
  func refusal(of renditions: [CollectedRendition]) -> PluginFailure? {
    if let most = limits.files, renditions.count > most {
      return PluginFailure(
        .permanent,
        "It made \(renditions.count) files, more than the stage's limit of \(most)."
          + StageLimits.remedy(.files))
    }
    let bytes = renditions.reduce(0) { $0 + $1.size }
    if let most = limits.outputBytes?.bytes, bytes > most {
      return refuse("output", ByteSize(bytes: bytes), .outputBytes, ByteSize(bytes: most))
    }
    return nil
  }

  private func refuse(
    _ what: String, _ size: ByteSize, _ limit: LimitKey, _ most: ByteSize
  ) -> PluginFailure {
    PluginFailure(
      .permanent,
      "The \(what) has \(size), more than the stage's limit of \(most)." + StageLimits.remedy(limit)
    )
  }
}
