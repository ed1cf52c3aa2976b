import Files
import PipelineModel

/// Finds the path of each exported file: that of an earlier export, or one that no file has.
struct ExportPlaces {
  /// The bytes to export, and the time of their file.
  struct Content: Sendable {
    var digest: Digest
    var size: Int
    /// In nanoseconds since 1970.
    var modified: Int64
  }

  enum Place: Equatable {
    /// No file has this path.
    case free(BytePath)
    /// A file of the same bytes is there.
    case present(BytePath)
  }

  /// The destination; `nil` if it does not exist yet.
  private let root: Descriptor?
  /// Paths given to files that are not there yet.
  private var given: [BytePath: Digest] = [:]
  /// Where to begin counting, for paths that several files asked for.
  private var next: [BytePath: Int] = [:]
  private static let mostNumbers = 1_000_000

  init(in root: Descriptor?) { self.root = root }

  /// Returns the path itself or, if it is taken, the first of `a-2.jpg`, `a-3.jpg`, … that is not.
  ///
  /// Numbers are given in the order of the calls, so an export that is repeated finds its files again.
  ///
  /// - Parameter recorded: the digest that an earlier export recorded for a path.
  mutating func place(
    _ content: Content, at wanted: BytePath, recorded: (BytePath) -> Digest?
  ) throws(FileError) -> Place {
    let name = FileName(wanted.lastComponent)
    for number in (next[wanted] ?? 1)..<Self.mostNumbers {
      let path = wanted.parent.appending(name.numbered(number))
      if number > 1 { next[wanted] = number + 1 }
      guard ExportFolder.isFree(path) else { continue }
      if let digest = given[path] {
        if digest == content.digest { return .present(path) }
        continue
      }
      switch try condition(of: path, content, recorded) {
      case .free:
        given[path] = content.digest
        return .free(path)
      case .present: return .present(path)
      case .taken: continue
      }
    }
    throw FileError(.exists, "“\(wanted.printable)” and all its numbers are taken.", path: wanted)
  }

  /// Forgets which paths were given, because their files are there now.
  mutating func placed() { given = [:] }

  private enum Condition { case free, present, taken }

  private func condition(
    of path: BytePath, _ content: Content, _ recorded: (BytePath) -> Digest?
  ) throws(FileError) -> Condition {
    guard let root else { return .free }
    let found = try ifThere { () throws(FileError) in
      let folder = try root.openParent(of: path)
      return (folder, try folder.status(of: path.lastComponent))
    }
    guard let (folder, status) = found else { return .free }
    guard status.kind == .regular, status.identity.size == content.size else { return .taken }
    // An export wrote these bytes, and nobody changed the file since.
    if recorded(path) == content.digest, status.identity.modified == content.modified {
      return .present
    }
    do throws(FileError) {
      let digest = try Descriptor.openRegular(path.lastComponent, in: folder).hash().digest
      return digest == content.digest ? .present : .taken
    } catch let error where error.code == .permission {
      // Somebody else's file.
      return .taken
    }
  }
}
