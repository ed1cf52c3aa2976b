import Configuration
import Files
import Glibc
import Ingest
import PipelineModel

/// Checks whether files can be taken from the configured sources.
struct SourcesCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    let sources = site.configuration?.sources ?? []
    return sources.enumerated().map { index, source in
      // In the order of the configuration.
      finding("source \(index + 1)", source, site)
    }
  }

  private func finding(
    _ name: String, _ source: SourceConfiguration, _ site: DoctorSite
  ) -> Finding {
    guard !site.isWorkplace else {
      return Finding(
        name, .ok,
        "“\(source.path.printable)” is not looked at: `pipeline work` takes no files.")
    }
    do {
      return Finding(name, .ok, try detail(of: source, site))
    } catch let refusal as Refusal {
      return Finding(name, .failed, refusal.detail, advice: refusal.advice)
    } catch {
      return Finding(name, .failed, "\(error)", advice: Self.advice)
    }
  }

  /// Why nothing is taken from a source.
  private struct Refusal: Error {
    let detail: String
    let advice: String
  }

  private static let advice = "Until then nothing is taken from it; other sources are not affected."

  /// - Throws: `Refusal`, `FileError`.
  private func detail(of source: SourceConfiguration, _ site: DoctorSite) throws -> String {
    let name = source.path.printable
    // Without its disk, a folder may be there or not.
    if let mount = try MountTable().missingMount(above: source.path) {
      throw Refusal(
        detail: "/etc/fstab mounts a disk at “\(mount.printable)”, but nothing is mounted there, "
          + "so “\(name)” is not it.", advice: "Mount it. \(Self.advice)")
    }
    let folder = try Descriptor.openFolder(source.path)
    let path = try FileSystem.realPath(of: source.path)
    if let library = try exclusion(site).folder(around: path) {
      throw Refusal(
        detail: "“\(name)” is in the library “\(library.printable)”, whose files are no source.",
        advice: "Name another folder. \(Self.advice)")
    }
    // It may be opened without the right to list it.
    _ = try folder.entries()
    if source.mode == .move, !source.path.allows(W_OK | X_OK) {
      throw Refusal(
        detail: "“\(name)” can be read, and nothing can be removed from it.",
        advice: "Let this user write there, or set \"mode\" to \"copy\". Until then its files stay "
          + "where they are.")
    }
    return try detail(of: source, folder, path, site)
  }

  /// The folders of the library, as far as there are any.
  private func exclusion(_ site: DoctorSite) throws(FileError) -> LibraryExclusion {
    try LibraryExclusion(site.folders.compactMap { try? Descriptor.openFolder($0) })
  }

  /// What can be said of a source that can be used.
  private func detail(
    of source: SourceConfiguration, _ folder: Descriptor, _ path: BytePath, _ site: DoctorSite
  ) throws(FileError) -> String {
    var parts = [
      "“\(source.path.printable)” can be read\(source.mode == .move ? " and emptied" : "")"
    ]
    let library = try DoctorSite.openNearest(site.library)
    if try folder.status().device != library.status().device {
      let point = try FileSystem.mountPoint(of: path)
      let disk = "is on another file system than the library, mounted at “\(point.printable)”"
      let isCopied = source.mode == .move && source.take == .auto
      parts.append(isCopied ? "\(disk), so its files are copied, and then removed" : disk)
    }
    if let network = try folder.fileSystem().networkName {
      parts.append(
        "is on \(network), which tells nobody of changes, so `watch` scans it every few seconds")
    }
    return parts.joined(separator: "; it ") + "."
  }
}
