import Configuration
import PipelineModel
import PipelinePlugin
import PluginHost

/// The stage limits that are checked before a job starts and on its results.
struct JobLimits {
  let limits: StageLimits

  /// Returns why a job may not start, or `nil`.
  ///
  /// - Parameters:
  ///   - size: the bytes of the job's file.
  ///   - identity: the facts of `identify`, if the job has them.
  ///   - memory: the bytes that the job will need.
  func refusal(ofBytes size: Int, identity: JSONValue?, memory: Int) -> PluginFailure? {
    if let most = limits.inputBytes, size > most.bytes {
      return refuse("The file has \(ByteSize(bytes: size))", .inputBytes, "\(most)")
    }
    if let most = limits.memory, memory > most.bytes {
      return refuse("It needs about \(ByteSize(bytes: memory)) of memory", .memory, "\(most)")
    }
    let frames = identity?["pages"]?.integer ?? 1
    if let most = limits.frames, frames > most {
      return refuse("It has \(frames) frames", .frames, "\(most)")
    }
    if let most = limits.pixels, let width = identity?["width"]?.integer,
      let height = identity?["height"]?.integer
    {
      let (area, overflow) = width.multipliedReportingOverflow(by: height)
      let (pixels, more) = area.multipliedReportingOverflow(by: frames)
      if overflow || more || pixels > most {
        return refuse(
          "It has \(width) x \(height) pixels in \(frames) frames", .pixels, "\(most) pixels")
      }
    }
    return nil
  }

  /// Returns why a job's output exceeds a limit, or `nil`.
  func refusal(of renditions: [CollectedRendition]) -> PluginFailure? {
    if let most = limits.files, renditions.count > most {
      return refuse("It made \(renditions.count) files", .files, "\(most)")
    }
    let bytes = renditions.reduce(0) { $0 + $1.size }
    if let most = limits.outputBytes, bytes > most.bytes {
      return refuse("The output has \(ByteSize(bytes: bytes))", .outputBytes, "\(most)")
    }
    return nil
  }

  private func refuse(_ what: String, _ limit: LimitKey, _ most: String) -> PluginFailure {
    PluginFailure(.permanent, "\(what), more than the stage's limit of \(most).", limit: limit)
  }
}
