import Configuration
import Files
import Ingest
import PipelineModel
import PluginTesting

/// Checks whether the configured bucket can keep originals.
struct BucketCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    guard let bucket = site.configuration?.originals else { return [] }
    let name = "originals"
    do {
      let folder = try CheckFolder()
      let start = ContinuousClock.now
      let trial = try BucketTrial(bucket, in: Descriptor.openFolder(folder.path))
      let time = (ContinuousClock.now - start).rounded
      if trial.server.hasPrefix("http://"), !Self.isLocal(trial.server) {
        return [
          Finding(
            name, .warning, "“\(bucket.name)” can be used, by \(trial.server) without TLS.",
            advice: "Whoever is on the way sees all pictures: use https.")
        ]
      }
      return [
        Finding(
          name, .ok,
          "“\(bucket.name)” on \(trial.server) compares hashes, overwrites nothing, and took an object "
            + "and gave it back in \(time).")
      ]
    } catch {
      return [
        Finding(
          name, .failed, "\(error)",
          advice: site.isWorkplace
            ? "Until then no job is done here; others may do them."
            : "Until then nothing is imported; what is there stays.")
      ]
    }
  }

  private static func isLocal(_ server: String) -> Bool {
    ["127.0.0.1", "localhost", "[::1]"].contains { server.hasPrefix("http://\($0)") }
  }
}
