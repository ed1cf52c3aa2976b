import Files
import PipelineModel

/// The position from which a verification resumes, as saved in `verify.json`.
struct VerificationResumePoint: Hashable {
  enum Next: Hashable {
    case originals(after: Digest?)
    case renditions(after: Int64)
    case end
  }

  var next: Next

  static let start = VerificationResumePoint(next: .originals(after: nil))
  private static let name = BytePath("verify.json")

  /// Whether all files were read.
  var isEnd: Bool { next == .end }

  private struct File: Codable {
    /// The digest of the last original read, while originals are checked.
    var original: Digest?
    /// The key of the last rendition read, while renditions are checked.
    var rendition: Int64?
    var time: Int64
  }

  /// Reads the position; the start if there is none or it is unreadable.
  static func read(in library: LibraryFolder) -> VerificationResumePoint {
    // It only decides how much is read twice.
    guard let bytes = try? library.folder.readFile(name, limit: 1 << 16),
      let file = try? JSONText.decode(File.self, from: bytes)
    else { return .start }
    if let rendition = file.rendition {
      return VerificationResumePoint(next: .renditions(after: rendition))
    }
    return VerificationResumePoint(next: .originals(after: file.original))
  }

  /// Saves the position.
  ///
  /// - Returns: why it could not be saved, or `nil`.
  func save(in library: LibraryFolder) -> String? {
    var file = File(time: Timestamp.now.microseconds)
    switch next {
    case .originals(let last): file.original = last
    case .renditions(let last): file.rendition = last
    case .end: file.rendition = .max
    }
    guard let text = try? JSONText.encode(file) else { return "It can't be written as JSON." }
    do throws(FileError) {
      try library.folder.writeDurably(Array((text + "\n").utf8), as: Self.name)
      return nil
    } catch {
      return error.message
    }
  }

  /// Removes the position: the next verification begins at the start.
  ///
  /// - Returns: why it could not be removed, or `nil`.
  static func forget(in library: LibraryFolder) -> String? {
    do throws(FileError) {
      try library.folder.remove(name)
      try library.folder.sync()
      return nil
    } catch {
      return error.code == .notFound ? nil : error.message
    }
  }
}
