import Catalog
import Files
import Glibc
import Ingest
import LibrarySession
import PipelineModel

/// `pipeline get`: writes the bytes of an original or a rendition.
enum GetVerb: Verb {
  static let name = "get"
  static let summary = "Write the bytes of an original or one of its renditions"
  static let operands = "ID"
  static let rendition = Option(
    name: "--rendition", value: "NAME", help: "a rendition, as NAME or STAGE/NAME")
  static let output = Option(
    name: "--output", short: "-o", value: "FILE",
    help: "write to a new file, which gets the original's time; - for standard output")
  static let options = [rendition, output]
  static let examples = [
    ("pipeline get 0197a2c4 -o photo.jpg", "the original, verified while copying"),
    ("pipeline get 0197a2c4 --rendition grid > grid.jpg", "a thumbnail"),
    ("pipeline get 0197a2c4 -o - | exiftool -", "to another program"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 1)
    let text = try context.operand(0, "ID")
    if context.arguments.path(output) == nil, isatty(STDOUT_FILENO) == 1 {
      throw UsageError(
        "A terminal can't show these bytes: add -o FILE, or -o - to write them anyway.",
        verb: name)
    }
    let session = try ReadingSession(context.search)
    let asset = try session.asset(text)
    if let name = context.arguments.value(rendition) {
      let content = try content(ofRendition: name, of: asset, in: session)
      try deliver(asset, context) { write throws(FileError) in try content.forEachChunk(write) }
    } else {
      try deliver(asset, context) { write throws(FileError) in
        try session.readOriginal(of: asset, write)
      }
    }
    return .success
  }

  private typealias Writer = (UnsafeRawBufferPointer) throws(FileError) -> Void

  private static func content(
    ofRendition name: String, of asset: AssetRecord, in session: ReadingSession
  ) throws -> VerifiedRendition {
    let found = asset.renditions(named: name)
    guard let rendition = found.first else {
      let names = asset.renditions.map { "\($0.stage)/\($0.name)" }.joined(separator: ", ")
      throw UsageError(
        names.isEmpty
          ? "\(asset.id) has no renditions (yet); `pipeline explain \(asset.id)` tells why."
          : "\(asset.id) has no rendition “\(name)”, only \(names).", verb: Self.name)
    }
    guard found.count == 1 else {
      let names = found.map { "\($0.stage)/\($0.name)" }.joined(separator: ", ")
      throw UsageError("“\(name)” matches \(names); write one of them.", verb: Self.name)
    }
    return try RenditionReader(folder: session.library.folder, catalog: session.catalog)
      .content(of: rendition, of: asset.id)
  }

  /// Writes to standard output, or atomically to a new file.
  private static func deliver(
    _ asset: AssetRecord, _ context: Context, _ body: (Writer) throws(FileError) -> Void
  ) throws {
    guard let name = context.arguments.path(output), name != "-" else {
      var isRead = true
      try body { bytes throws(FileError) in
        isRead = isRead && context.console.hasReader
        if isRead { context.console.write(Array(bytes)) }
      }
      return try context.console.expectReader()
    }
    let path = context.path(name)
    let folder = try Descriptor.openFolder(path.parent)
    let temporary = BytePath(".pipeline-get-\(getpid()).new")
    let file = try Descriptor.open(
      temporary, in: folder, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o644)
    do throws(FileError) {
      try body { bytes throws(FileError) in try file.write(bytes) }
      try file.setModified(asset.modified)
      try file.sync()
      try folder.rename(temporary, to: folder, as: path.lastComponent)
    } catch {
      // Clean-up: report the original error.
      try? folder.remove(temporary)
      guard error.code == .exists else { throw error }
      throw FileError(
        .exists, "“\(path.printable)” already exists; nothing was written.", path: path)
    }
  }
}
