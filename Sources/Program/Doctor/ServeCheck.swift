import Configuration
import LibrarySession
import PipelineModel
import PluginTesting

/// Checks whether the process that `serve` starts enters its sandbox, and answers a request; and whether it can
/// open the library's database, if there is one.
struct ServeCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    // `serve` needs the library's own folder.
    site.workedLibrary == nil ? [finding(site)] : []
  }

  private func finding(_ site: DoctorSite) -> Finding {
    guard WebSession.program != nil else {
      return Finding(
        "serve", .warning,
        "pipeline-web is missing, because this pipeline was built without libmicrohttpd.",
        advice: "Only `pipeline serve` needs it.")
    }
    do {
      // Not beside the library, which may be on a disk where no catalog or socket can be.
      let (folder, other) = (try CheckFolder(), try CheckFolder())
      // They are removed with their objects, whose last use is before that of their paths.
      defer { withExtendedLifetime((folder, other)) {} }
      let start = ContinuousClock.now
      try WebTrial.run(in: folder.path)
      let time = ContinuousClock.now - start
      if site.configuration?.catalog?.database != nil {
        try WebTrial.connect(site.search, in: other.path)
      }
      return Finding(
        "serve", .ok, "A server started, entered its sandbox and answered in \(time.rounded).")
    } catch let error as ServingError where error == WebSession.ended {
      return Finding(
        "serve", .warning, "pipeline-web ended before it was ready.",
        advice: "Install Debian's libmicrohttpd12; only `pipeline serve` needs it.")
    } catch {
      return Finding(
        "serve", .failed, Failure(error).text,
        advice: "Only `pipeline serve` is affected; its sandbox is that of workers.")
    }
  }
}
