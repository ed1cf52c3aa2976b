package import Configuration
package import Files
import Glibc
package import PipelineModel

/// What is at a path now, as a run would find it.
package enum DiskLook {
  /// Why a file is not complete yet.
  package enum Wait {
    /// It was touched within the settle window, which ends after so long.
    case quiet(Duration)
    /// Somebody has it open for writing.
    case writer
  }

  /// Nothing, or nothing that can be looked at; why, as a sentence.
  case missing(String)
  case unreadable(String)
  /// Something that no run takes, because of this rule.
  case ignored(rule: String)
  case folder
  case file(FileStatus, Wait?)

  /// Looks.
  ///
  /// - Parameters:
  ///   - path: absolute.
  ///   - home: the source that the path is in, and where in it; `nil` for a path in none.
  ///   - library: the library's own folders, whose files are no run's business.
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

  /// The rule that ignores a path, or `nil`.
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

  /// What a file waits for, or `nil`.
  private static func wait(
    _ source: SourceConfiguration, _ path: BytePath, _ status: FileStatus
  ) -> Wait? {
    if source.complete == .quiet {
      let age = Timestamp.now.microseconds - status.identity.changed / 1000
      let left = source.settle.duration - .microseconds(max(0, age))
      if left > .zero { return .quiet(left) }
    }
    // Only of one's own files the kernel says it; the lease is given back at once.
    guard status.owner == geteuid(), status.identity.size > 0 else { return nil }
    do throws(FileError) {
      let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
      let file = try Descriptor.open(path, flags: flags)
      defer { file.releaseLease() }
      return file.takeLease() == .refused ? .writer : nil
    } catch {
      // A file that can't be read is not known to be written; a run says why it fails.
      return nil
    }
  }
}
