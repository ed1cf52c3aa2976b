import Configuration
import Files
import PipelineModel

/// Checks the free space.
struct SpaceCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] { site.folders.map { finding($0, site) } }

  private func finding(_ path: BytePath, _ site: DoctorSite) -> Finding {
    let name = path == site.library ? "free space" : "free space of the catalog"
    do throws(FileError) {
      let facts = try DoctorSite.openNearest(path).fileSystem()
      let reserve =
        site.setup?.configuration.reserve?.bytes
        ?? min(256 << 20, facts.totalBytes / 100)
      guard facts.freeBytes != .max else {
        return Finding(name, .ok, "The file system reports no limit.")
      }
      let detail =
        "\(ByteSize(bytes: facts.freeBytes)) free for “\(path.printable)”, of which "
        + "\(ByteSize(bytes: reserve)) are kept in reserve."
      guard facts.freeBytes < reserve else { return Finding(name, .ok, detail) }
      return Finding(
        name, .failed, "\(detail) No more files are ingested.",
        advice: "Make room, or set a smaller \"reserve\".")
    } catch {
      return Finding(name, .unknown, error.message)
    }
  }
}
