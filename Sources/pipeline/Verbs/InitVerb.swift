import Configuration
import Files
import Ingest
import PipelineModel

/// `pipeline init`: a folder to begin with.
enum InitVerb: Verb {
  static let name = "init"
  static let summary = "Make a configuration, an inbox and a library"
  static let operands = "[DIR]"
  static let examples = [
    ("pipeline init", "in the working folder"),
    ("pipeline init ~/pictures", "in a folder, which is made if need be"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 1)
    let target = context.arguments.operands.first ?? context.workingFolder
    let root = context.workingFolder.appending(target).normalized
    try makeFolders(root)
    let folder = try Descriptor.openFolder(root)
    for name in ["pipeline.json", "pipeline.schema.json", "library"] where try exists(name, folder)
    {
      throw FileError(
        .exists,
        "“\(root.appending(name).printable)” is there already; nothing was changed. Choose another "
          + "folder, or remove it.", path: root.appending(name))
    }
    try folder.makeFolder("inbox", mode: 0o700)
    try LibraryFolder.make(LibraryLayout(root: root.appending("library")), in: folder)
    try folder.writeDurably(
      Array(ConfigurationSchema.text.utf8), as: "pipeline.schema.json", mode: 0o644)
    try folder.writeDurably(
      Array(InitialConfiguration.text().utf8), as: "pipeline.json", mode: 0o644)
    report(root, context.console)
    return .success
  }

  private static func report(_ root: BytePath, _ console: Console) {
    let configuration = root.appending("pipeline.json")
    if console.isJSON {
      var members = JSONMembers.path(root)
      members["configuration"] = .string(configuration.description)
      console.event("initialized", members)
    } else if !console.isQuiet {
      console.result(
        """
        Made \(configuration.printable), inbox/ and library/.
        Put pictures into \(root.appending("inbox").printable), then run:
          pipeline run --config \(configuration.printable)
        """)
    }
  }

  private static func exists(_ name: String, _ folder: Descriptor) throws(FileError) -> Bool {
    do throws(FileError) {
      _ = try folder.status(of: BytePath(name))
      return true
    } catch let error where error.code == .notFound {
      return false
    }
  }

  /// Makes a folder and those above it.
  private static func makeFolders(_ path: BytePath) throws(FileError) {
    var folder = try Descriptor.openFolder("/")
    for part in path.components {
      try folder.makeFolder(part, mode: 0o755)
      folder = try Descriptor.openFolder(part, in: folder)
    }
  }
}
