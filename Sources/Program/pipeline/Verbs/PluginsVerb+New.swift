import Configuration
import Files
import LibrarySession
import PipelineModel
import PluginHost
import PluginTesting

/// `pipeline plugins new`: makes a folder with a working plugin as a starting point.
extension PluginsVerb {
  static let language = Option(
    name: "--language", value: "LANGUAGE", help: "of a new plugin: \(PluginLanguage.choice)",
    values: PluginLanguage.allCases.map(\.rawValue))
  static let into = Option(
    name: "--into", value: "DIR", help: "where to make a new plugin's folder (default: here)")

  /// Subcommands of this verb, which can't be plugin names.
  private static let reserved = ["new", "test"]

  static func makeNew(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 2)
    let id = try identifier(context.operand(1, "The new plugin's NAME"))
    let skeleton = PluginSkeleton(id: id, language: try chosenLanguage(context))
    let place = context.arguments.path(into) ?? context.workingFolder
    let parent = try Descriptor.openFolder(context.path(place))
    let path = parent.path.appending(BytePath(id))
    guard try parent.makeFolder(BytePath(id), mode: 0o755) else {
      throw FileError(
        .exists,
        "“\(path.printable)” already exists; nothing was changed. Choose another name, or "
          + "another folder with --into.", path: path)
    }
    try skeleton.write(into: .openFolder(BytePath(id), in: parent))
    report(skeleton, path, context.console)
    return .success
  }

  private static func identifier(_ name: BytePath) throws(UsageError) -> String {
    guard let id = name.utf8, ManifestCheck.isIdentifier(id) else {
      throw UsageError(
        "“\(name.printable)” can't be a plugin's name; use up to 64 lowercase letters, digits and "
          + "dashes, starting with a letter or digit.", verb: self.name)
    }
    guard !reserved.contains(id) else {
      throw UsageError(
        "A plugin can't be named “\(id)”, which is a subcommand of this verb.", verb: self.name)
    }
    return id
  }

  private static func chosenLanguage(_ context: Context) throws(UsageError) -> PluginLanguage {
    guard let text = context.arguments.value(language) else {
      throw UsageError("Name a language: --language \(PluginLanguage.choice).", verb: name)
    }
    if let language = PluginLanguage(rawValue: text) { return language }
    let known = PluginLanguage.allCases.map(\.rawValue)
    let hint = NearestName.find(text, among: known).map { "did you mean “\($0)”?" }
    throw UsageError(
      "There is no skeleton in “\(text)”; \(hint ?? "choose \(PluginLanguage.choice).")",
      verb: name)
  }

  private static func report(_ skeleton: PluginSkeleton, _ path: BytePath, _ console: Console) {
    if console.isJSON {
      var members = JSONMembers.path(path)
      members["files"] = .array(skeleton.files.map { .string($0.path.description) })
      members["build"] = JSONMembers.text(skeleton.build)
      members["product"] = .string(skeleton.product)
      console.event("created", members)
    } else if !console.isQuiet {
      let build = skeleton.build.map { "  \($0)\n" } ?? ""
      console.result(
        lines: """
          Made \(path.printable). Its README.md describes the next steps; in that folder:
          \(build)  pipeline plugins test \(skeleton.product)
          """)
    }
  }
}
