import Catalog
import Configuration
import Files
import Glibc
import Ingest
import Originals
import PipelineModel
import Records

/// All regular files below a folder with their bytes, by path relative to it.
func filesBelow(_ folder: BytePath) throws -> [BytePath: [UInt8]] {
  var files: [BytePath: [UInt8]] = [:]
  func visit(_ folder: Descriptor, _ path: BytePath) throws {
    for entry in try folder.entries() {
      let inner = path.appending(entry.name)
      switch try folder.status(of: entry.name).kind {
      case .folder: try visit(try Descriptor.openFolder(entry.name, in: folder), inner)
      case .regular: files[inner] = try folder.readFile(entry.name, limit: 1 << 30)
      default: break
      }
    }
  }
  do {
    try visit(try Descriptor.openFolder(folder), BytePath(bytes: []))
  } catch let error as FileError where error.code == .notFound {
    return [:]
  }
  return files
}

/// What is left when a run is over, in a form that two runs can be compared by.
struct LibraryState: Equatable {
  /// Names and contents of assets, sorted.
  var assets: [String]
  /// Contents of the originals.
  var originals: Set<String>
  /// Contents of the source's files by path.
  var source: [BytePath: String]
  var duplicates: [String]
  var incoming: [BytePath]
  var problems: Set<String>

  init(_ fixture: IngestFixture) throws {
    let originals = try filesBelow(fixture.layout.originals)
    assets = try fixture.assets().map { asset in
      let content = originals[OriginalLayout.path(of: asset.digest)]
      return "\(asset.name) at \(asset.path): \(content.map(Self.text) ?? "lost")"
    }.sorted()
    self.originals = Set(originals.values.map(Self.text))
    source = try filesBelow(fixture.source.path).mapValues(Self.text)
    duplicates = try filesBelow(fixture.layout.duplicates)
      .map { "\($0.lastComponent): \(Self.text($1))" }.sorted()
    incoming = try filesBelow(fixture.layout.incoming).keys.sorted()
    problems = Set(
      try fixture.problems().filter { $0.kind != .incomingLeftover }.map(\.message))
  }

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
