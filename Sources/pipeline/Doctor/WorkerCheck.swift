import Engine
import PipelineModel
import PipelinePlugin
import PluginHost

/// Checks whether a worker starts, enters its sandbox and answers.
struct WorkerCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    do throws(PluginFailure) {
      let path = try site.finder.find(StagePlan.identifier)
      let start = ContinuousClock.now
      _ = try WorkerBackend(WorkerProgram(.library(path), secrets: site.secrets))
      let time = ContinuousClock.now - start
      return [
        Finding(
          "worker", .ok, "A worker started, entered its sandbox and answered in \(time.rounded).")
      ]
    } catch {
      return [
        Finding(
          "worker", .failed, error.reason,
          advice: "Until a worker can start, only stages with \"isolation\": \"none\" run.")
      ]
    }
  }
}

extension Duration {
  /// In milliseconds, for people.
  var rounded: String {
    let (seconds, rest) = components
    let milliseconds = seconds * 1000 + rest / 1_000_000_000_000_000
    return milliseconds == 0 ? "less than 1 ms" : "\(milliseconds) ms"
  }
}
