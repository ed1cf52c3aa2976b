import Files
import PipelineModel

/// Where a verification goes on, as `verify.json` keeps it.
struct VerificationPlace: Hashable {
  /// What is checked next.
  enum Next: Hashable {
    case originals(after: Digest?)
    case renditions(after: Int64)
    case end
  }

  var next: Next

  static let start = VerificationPlace(next: .originals(after: nil))
  private static let name = BytePath("verify.json")

  /// Whether all files were read.
  var isEnd: Bool { next == .end }

  private struct File: Codable {
    /// The digest of the last original that was read, while those are.
    var original: Digest?
    /// The key of the last rendition that was read, once those are.
    var rendition: Int64?
    var time: Int64
  }

  /// Reads the place; the start where none is kept, or it can't be read.
  static func read(in library: LibraryFolder) -> VerificationPlace {
    // Nothing depends on it but how much is read twice.
    guard let bytes = try? library.folder.readFile(name, limit: 1 << 16),
      let file = try? JSONText.decode(File.self, from: bytes)
    else { return .start }
    if let rendition = file.rendition {
      return VerificationPlace(next: .renditions(after: rendition))
    }
    return VerificationPlace(next: .originals(after: file.original))
  }

  /// Keeps the place.
  ///
  /// - Returns: why it could not be kept, or `nil`.
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

  /// Forgets the place: the next verification begins at the start.
  ///
  /// - Returns: why that could not be done, or `nil`.
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
