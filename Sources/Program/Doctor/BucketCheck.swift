import Configuration
import Files
import Ingest
import PipelineModel
import PluginTesting

/// Checks whether the configured buckets can keep originals and renditions.
struct BucketCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    guard let configuration = site.configuration else { return [] }
    let places = [
      ("originals", configuration.originals), ("renditions", configuration.renditions),
    ]
    return places.flatMap { name, bucket in bucket.map { check(name, $0, site) } ?? [] }
  }

  private func check(_ name: String, _ bucket: BucketLocation, _ site: DoctorSite) -> [Finding] {
    do {
      let start = ContinuousClock.now
      let trial = try BucketTrial(
        bucket, for: name, mustBeUnused: name == "originals" && site.isWithoutLibrary)
      let time = (ContinuousClock.now - start).rounded
      if let owner = trial.owner, let own = site.knownLibrary, owner != own {
        return [
          Finding(
            name, .failed,
            "“\(bucket.name)” has the \(name) of another library, \(owner): this is \(own).",
            advice: "Correct \"\(name)\" or \"library\".")
        ]
      }
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
            : name == "renditions"
              ? "Until then no thumbnail that belongs there is made or shown."
              : "Until then nothing is imported; what is there stays.")
      ]
    }
  }

  private static func isLocal(_ server: String) -> Bool {
    ["127.0.0.1", "localhost", "[::1]"].contains { server.hasPrefix("http://\($0)") }
  }
}
