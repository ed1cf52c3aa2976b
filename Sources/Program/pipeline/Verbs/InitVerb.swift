import Configuration
import Files
import Ingest
import LibrarySession
import PipelineModel
import PluginHost

/// `pipeline init`: creates a configuration, an inbox and a library.
enum InitVerb: Verb {
  static let name = "init"
  static let summary = "Make a configuration, an inbox and a library"
  static let operands = "[DIR]"
  static let library = Option(
    name: "--library", value: "FOLDER",
    help: "make the library there, even on another disk; an existing library is used")
  static let options = [library]
  static let examples = [
    ("pipeline init", "in the working folder"),
    ("pipeline init ~/pictures", "in a folder, which is made if necessary"),
    ("pipeline init --library /mnt/disk/library ~/pictures", "the library on another disk"),
    (
      "pipeline init --library /mnt/disk/library --config ~/pictures/pipeline.json",
      "just the library that a configuration names"
    ),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 1)
    let library = context.arguments.path(library).map(context.path)
    if let file = context.arguments.path(.config) {
      guard let library, context.arguments.operands.isEmpty else {
        throw UsageError(
          "With --config, init makes only the library that the configuration names: name it with "
            + "--library, and no folder.", verb: name)
      }
      return try makeLibrary(library, for: context.path(file), context.console)
    }
    let root = context.path(context.arguments.operands.first ?? context.workingFolder)
    let file = root.appending(configurationName)
    if let library, try exists(file) { return try makeLibrary(library, for: file, context.console) }
    return try makeAll(root, library: library ?? root.appending("library"), context.console)
  }

  private static let configurationName = "pipeline.json"
  private static let schemaName = "pipeline.schema.json"

  // MARK: All of it

  private static func makeAll(
    _ root: BytePath, library: BytePath, _ console: Console
  ) throws -> ExitCode {
    let file = root.appending(configurationName)
    let isInside = library == root.appending("library")
    for path in [file, root.appending(schemaName)] + (isInside ? [library] : [])
    where try exists(path) {
      throw try taken(path, file: file)
    }
    let text = InitialConfiguration.text(
      library: try notation(of: library, in: root),
      // It is left out where its library is not installed.
      readsMetadata: !PluginFinder().hasNo("metadata"))
    // Report any problem, such as a library that contains the inbox, before making anything.
    let configuration = try PipelineConfiguration.decode(bytes: Array(text.utf8), file: file)
    try makeFolders(root)
    let folder = try Descriptor.openFolder(root)
    let isNew = try LibraryFolder.makeAsAsked(LibraryLayout(root: configuration.library))
    try folder.makeFolder("inbox", mode: 0o700)
    try folder.writeDurably(
      Array(ConfigurationSchema.text.utf8), as: BytePath(schemaName), mode: 0o644)
    try folder.writeDurably(Array(text.utf8), as: BytePath(configurationName), mode: 0o644)
    if console.isJSON {
      report(root, file, library: configuration.library, isNew: isNew, console)
    } else if !console.isQuiet {
      let what =
        isInside
        ? "inbox/ and library/"
        : "inbox/ and \(isNew ? "the library" : "no library, because there is one at") "
          + configuration.library.printable
      console.result(
        lines: """
          Made \(file.printable), \(what).
          Put pictures into \(root.appending("inbox").printable), then run:
            pipeline run --config \(file.shellWord)
          """)
    }
    return .success
  }

  private static func taken(_ path: BytePath, file: BytePath) throws -> FileError {
    var advice = "Choose another folder, or remove it."
    if path == file, let named = try? PipelineConfiguration.load(file: file).library,
      try !exists(named)
    {
      advice =
        "To make only the library that it names, run `pipeline init --library \(named.shellWord) "
        + "--config \(file.shellWord)`."
    }
    return FileError(
      .exists, "“\(path.printable)” already exists; nothing was changed. \(advice)", path: path)
  }

  /// The library's path for the configuration: relative if it is inside the configuration's
  /// folder, so that both can be moved together.
  private static func notation(of library: BytePath, in root: BytePath) throws -> String {
    if let text = (library.relative(to: root) ?? library).utf8 { return text }
    throw UsageError(
      "A configuration can't name “\(library.printable)”, which is not UTF-8. Make the library in "
        + "the configuration's folder, or name it through a symbolic link to its parent folder.",
      verb: name)
  }

  // MARK: The library alone

  private static func makeLibrary(
    _ library: BytePath, for file: BytePath, _ console: Console
  ) throws -> ExitCode {
    let configuration = try PipelineConfiguration.load(file: file)
    let named = configuration.library
    guard FileSystem.resolvingFolders(of: named) == FileSystem.resolvingFolders(of: library)
    else {
      throw FileError(
        .exists,
        "“\(file.printable)” already exists and names the library “\(named.printable)”; nothing "
          + "was changed. Choose another folder for the configuration, or that library.",
        path: file)
    }
    guard try LibraryFolder.makeAsAsked(LibraryLayout(root: named)) else {
      throw FileError(
        .exists, "“\(named.printable)” is already a library; nothing was changed.", path: named)
    }
    if console.isJSON {
      report(file.parent, file, library: named, isNew: true, console)
    } else if !console.isQuiet {
      console.result("Made the library \(named.printable), which \(file.printable) names.")
    }
    return .success
  }

  private static func report(
    _ root: BytePath, _ file: BytePath, library: BytePath, isNew: Bool, _ console: Console
  ) {
    var members = JSONMembers.path(root)
    members.merge(JSONMembers.path(file, key: "configuration")) { $1 }
    members.merge(JSONMembers.path(library, key: "library")) { $1 }
    members["libraryMade"] = .bool(isNew)
    console.event("initialized", members)
  }

  private static func exists(_ path: BytePath) throws(FileError) -> Bool {
    do throws(FileError) {
      _ = try FileSystem.status(of: path)
      return true
    } catch let error where error.code == .notFound {
      return false
    }
  }

  /// Makes a folder and its ancestors.
  private static func makeFolders(_ path: BytePath) throws(FileError) {
    var folder = try Descriptor.openFolder("/")
    for part in path.components {
      try folder.makeFolder(part, mode: 0o755)
      folder = try Descriptor.openFolder(part, in: folder)
    }
  }
}
