package import Configuration
package import Files
import Glibc
package import PipelineModel

/// What is at a path now, as a run would see it.
package enum PathOnDisk {
  /// Why a file is not complete yet.
  package enum Wait {
    /// It was changed within the settle window; the remaining time.
    case quiet(Duration)
    /// A process has it open for writing.
    case writer
  }

  /// There is nothing; the reason, as a sentence.
  case missing(String)
  case unreadable(String)
  /// A rule excludes it from runs.
  case ignored(rule: String)
  case folder
  case file(FileStatus, Wait?)

  /// Examines a path.
  ///
  /// - Parameters:
  ///   - path: an absolute path.
  ///   - home: the source and the path relative to it; `nil` outside all sources.
  ///   - library: the library's own folders, which no run ingests.
  package init(
    _ path: BytePath, home: (source: SourceConfiguration, path: BytePath)?, library: [BytePath]
  ) {
    let status: FileStatus
    do throws(FileError) {
      status = try FileSystem.status(of: path)
    } catch {
      self = error.code == .notFound ? .missing(error.message) : .unreadable(error.message)
      return
    }
    if library.contains(where: { path == $0 || path.relative(to: $0) != nil }) {
      self = .ignored(rule: "the library itself")
    } else if let home, let rule = Self.rule(home.source, home.path, status) {
      self = .ignored(rule: rule)
    } else if status.kind == .folder {
      self = .folder
    } else {
      self = .file(status, home.flatMap { Self.wait($0.source, path, status) })
    }
  }

  /// The rule that ignores a path, if any.
  private static func rule(
    _ source: SourceConfiguration, _ path: BytePath, _ status: FileStatus
  ) -> String? {
    let isFolder = status.kind == .folder
    if case .ignored(let rule) = SourceRules(source).verdict(for: path, isFolder: isFolder) {
      return rule
    }
    if !source.recursive, isFolder || path.components.count > 1 {
      return "in a folder, and the source is not recursive"
    }
    return switch status.kind {
    case .regular, .folder: nil
    case .link: "a symbolic link"
    case .fifo: "a named pipe"
    case .socket: "a socket"
    case .device: "a device"
    }
  }

  /// What a file waits for, if anything.
  private static func wait(
    _ source: SourceConfiguration, _ path: BytePath, _ status: FileStatus
  ) -> Wait? {
    if source.complete == .quiet {
      let age = Timestamp.now.microseconds - status.identity.changed / 1000
      let left = source.settle.duration - .microseconds(max(0, age))
      if left > .zero { return .quiet(left) }
    }
    // The kernel grants leases only on the user's own files; this one is released at once.
    guard status.owner == geteuid(), status.identity.size > 0 else { return nil }
    do throws(FileError) {
      let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
      let file = try Descriptor.open(path, flags: flags)
      defer { file.releaseLease() }
      return file.acquireLease() == .refused ? .writer : nil
    } catch {
      // Whether an unreadable file is being written is unknown; a run reports why it fails.
      return nil
    }
  }
}
