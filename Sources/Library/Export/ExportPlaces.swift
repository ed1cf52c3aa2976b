import Files
import Glibc
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
    /// No file has this path; it is claimed for these bytes.
    case free(BytePath)
    /// The path is claimed for the same bytes, which are not there yet.
    case claimed(BytePath)
    /// A file of the same bytes is there.
    case present(BytePath)
  }

  /// The destination; `nil` if it does not exist yet.
  private let root: Descriptor?
  private let isStopped: @Sendable () -> Bool
  /// The paths of files that are not there yet.
  private var claims: [BytePath: Digest] = [:]
  /// The same, by what they are to contain.
  private var claimed: [Digest: [BytePath]] = [:]
  /// Where to begin counting, for paths that several files asked for.
  private var next: [BytePath: Int] = [:]
  /// Paths that are taken by files that no list names: one may have the bytes of a later asset.
  private var unlisted: [BytePath: [BytePath]] = [:]
  private static let mostNumbers = 1_000_000

  init(in root: Descriptor?, isStopped: @escaping @Sendable () -> Bool) {
    self.root = root
    self.isStopped = isStopped
  }

  /// Returns where an earlier export put these bytes; else the path itself or, if it is taken, the
  /// first of `a-2.jpg`, `a-3.jpg`, … that is not.
  mutating func place(
    _ content: Content, at wanted: BytePath, listedIn list: ChecksumList?
  ) throws(FileError) -> Place {
    let name = FileName(wanted.lastComponent)
    let claim = claimed[content.digest]?.first {
      claims[$0] == content.digest && $0.parent == wanted.parent
        && name.isNumbered(as: $0.lastComponent)
    }
    if let claim { return .claimed(claim) }
    let listed = (list?.paths(of: content.digest) ?? []).filter {
      $0.parent == wanted.parent && name.isNumbered(as: $0.lastComponent)
    }
    for path in listed + (unlisted[wanted] ?? []) {
      if try condition(of: path, content, list) == .present { return .present(path) }
    }
    for number in (next[wanted] ?? 1)..<Self.mostNumbers {
      let path = wanted.parent.appending(name.numbered(number))
      if number > 1 { next[wanted] = number + 1 }
      if claims[path] != nil { continue }
      switch try condition(of: path, content, list) {
      case .free:
        claims[path] = content.digest
        claimed[content.digest, default: []].append(path)
        return .free(path)
      case .present: return .present(path)
      case .taken:
        if list?.digest(of: path) == nil { unlisted[wanted, default: []].append(path) }
      }
    }
    throw FileError(.exists, "“\(wanted.printable)” and all its numbers are taken.", path: wanted)
  }

  /// Withdraws a claim, because somebody else's file is there now.
  mutating func withdraw(_ path: BytePath) { claims[path] = nil }

  /// Withdraws all claims, because their files are there, or are not going to be.
  mutating func withdrawAll() { (claims, claimed) = ([:], [:]) }

  private enum Condition { case free, present, taken }

  private func condition(
    of path: BytePath, _ content: Content, _ list: ChecksumList?
  ) throws(FileError) -> Condition {
    guard let root else { return .free }
    let folder: Descriptor
    let status: FileStatus
    do throws(FileError) {
      folder = try root.openParent(of: path)
      status = try folder.status(of: path.lastComponent)
    } catch {
      if error.errno == ENOENT { return .free }
      if error.errno == ENOTDIR, let place = error.path {
        throw FileError(
          .other, "“\(place.printable)” is not a folder, so nothing can be put into it.",
          path: place)
      }
      throw error
    }
    guard status.kind == .regular, status.identity.size == content.size else { return .taken }
    // An export wrote these bytes, and nobody changed the file since. FAT keeps times to 2 s.
    if list?.digest(of: path) == content.digest,
      status.identity.modified.subtractingReportingOverflow(content.modified).partialValue.magnitude
        < 2_000_000_000
    {
      return .present
    }
    do throws(FileError) {
      let file = try Descriptor.openRegular(path.lastComponent, in: folder)
      let digest = try file.hash(expecting: content.size, isStopped: isStopped).digest
      return digest == content.digest ? .present : .taken
    } catch let error where error.code == .permission {
      // Somebody else's file.
      return .taken
    }
  }
}
