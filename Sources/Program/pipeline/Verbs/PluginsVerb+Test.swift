import Configuration
import Engine
import Files
import LibrarySession
import PipelineModel
import PipelinePlugin
import PluginHost
import PluginTesting

/// `pipeline plugins test`: checks a plugin against the requirements in docs/plugins.md.
extension PluginsVerb {
  static let files = Option(
    name: "--files", value: "DIR", help: "also test a plugin with the files of this folder")
  static let withOptions = Option(
    name: "--options", value: "JSON", help: "test a plugin with these options")
  static let allow = Option(
    name: "--allow", value: "LIST",
    help: "what a tested plugin may do, as in a stage: exec, network, read=PATH, write=PATH")

  static func test(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 2)
    let path = context.path(try context.operand(1, "The plugin's PATH"))
    let plugin = try plugin(at: path)
    // The test needs no configuration, so verbs that do report its errors.
    let configuration = (try? LibrarySetup.ifPresent(context.search))?.configuration
    let bench = try CheckBench(
      plugin, program: "pipeline \(programVersion)", options: try chosenOptions(context),
      files: try chosenFiles(context), identify: identifier(context),
      allowance: try chosenAllowance(context), secrets: PluginSecrets(configuration))
    let console = context.console
    let failed = PluginCheckRun.run(bench) { check, outcome in report(check, outcome, console) }
    console.flush()
    let count = PluginCheckRun.checks.count
    if console.isJSON {
      console.event("summary", ["checks": .integer(count), "failed": .integer(failed)])
    } else if failed > 0 {
      console.message("\(counted(failed, "check")) of \(count) failed.")
    } else {
      console.message("\(path.printable) passed all checks.")
    }
    return failed == 0 ? .success : .someFailed
  }

  private static func plugin(at path: BytePath) throws(FileError) -> WorkerLaunch.Plugin {
    let status = try Descriptor.openFolder(path.parent).status(of: path.lastComponent)
    guard status.kind == .regular || status.kind == .link else {
      throw FileError(
        .other, "“\(path.printable)” is not a file: name the library or the program itself.",
        path: path)
    }
    let isLibrary = path.bytes.suffix(3).elementsEqual(Array(".so".utf8))
    return isLibrary ? .library(path) : .executable([path])
  }

  private static func chosenOptions(_ context: Context) throws(UsageError) -> JSONValue {
    guard let text = context.arguments.value(withOptions) else { return [:] }
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONText.decode(JSONValue.self, from: text.utf8)
    } catch {
      throw UsageError("--options is not valid JSON: \(error)", verb: name)
    }
    guard value.object != nil else {
      throw UsageError("--options needs a JSON object.", verb: name)
    }
    return value
  }

  /// The regular files at the top of a folder, sorted by name.
  private static func chosenFiles(_ context: Context) throws(FileError) -> [BytePath] {
    guard let place = context.arguments.path(files) else { return [] }
    let folder = try Descriptor.openFolder(context.path(place))
    var found: [BytePath] = []
    for entry in try folder.entries() where try folder.status(of: entry.name).kind == .regular {
      found.append(folder.path.appending(entry.name))
    }
    return found.sorted()
  }

  /// Parses `--allow`: the keys of a stage's `allow`, separated by commas.
  private static func chosenAllowance(_ context: Context) throws(UsageError) -> StageAllowance {
    var allowance = StageAllowance()
    let list = context.arguments.path(allow)?.bytes ?? []
    for word in list.split(separator: UInt8(ascii: ",")) {
      let parts = word.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let path = parts.count > 1 ? context.path(BytePath(bytes: parts[1])) : nil
      switch (BytePath(bytes: parts[0]).utf8, path) {
      case ("exec", nil): allowance.exec = true
      case ("network", nil): allowance.network = true
      case ("read", let path?): allowance.read.append(path)
      case ("write", let path?): allowance.write.append(path)
      default:
        throw UsageError(
          "“\(BytePath(bytes: word).printable)” can't be allowed; write exec, network, read=PATH "
            + "or write=PATH.", verb: name)
      }
    }
    return allowance
  }

  /// The plugin that determines media types; without it all files are of unknown type.
  private static func identifier(_ context: Context) -> BytePath? {
    do throws(PluginFailure) {
      return try PluginFinder().find(StagePlan.identifier)
    } catch {
      context.console.warning(error.reason)
      return nil
    }
  }

  private static func report(
    _ check: any PluginCheck, _ outcome: PluginCheckRun.Outcome, _ console: Console
  ) {
    let (word, text, advice): (String, String, String?) =
      switch outcome {
      case .success(.passed(let note)): ("ok", note, nil)
      case .success(.skipped(let reason)): ("skipped", reason, nil)
      case .failure(let failure): ("failed", failure.reason, failure.advice)
      }
    if console.isJSON {
      console.event(
        "check",
        [
          "name": .string(check.name), "outcome": .string(word), "reason": .string(text),
          "advice": JSONMembers.text(advice),
        ])
    } else if !console.isQuiet || advice != nil {
      let mark = advice == nil ? word : word.uppercased()
      let line = "\(mark.padded(to: 8)) \(check.name.padded(to: 16)) \(text)"
      console.result(line)
      if let advice { console.result("\("".padded(to: 26))\(advice)") }
    }
    // A check can take seconds, so show each result at once.
    console.flush()
  }
}
