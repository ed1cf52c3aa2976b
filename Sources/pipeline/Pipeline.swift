import Files
import Glibc
import PipelineModel

/// The program: sorts the command line, runs the verb, and turns the outcome into an exit code.
@main
enum Pipeline {
  static let version = "0.1.0"

  static let verbs: [any Verb.Type] = [
    InitVerb.self, RunVerb.self, ImportVerb.self, ListVerb.self, ShowVerb.self, GetVerb.self,
    StatusVerb.self, ExplainVerb.self, FailedVerb.self, RetryVerb.self, VerifyVerb.self,
    RebuildCatalogVerb.self, ConfigVerb.self, PluginsVerb.self,
  ]

  static func main() {
    Interruption.shared.listen()
    raiseDescriptorLimit()
    exit(run(words: commandLine(), environment: environment()).rawValue)
  }

  private static func run(words: [BytePath], environment: [String: String]) -> ExitCode {
    do {
      let arguments = try Arguments(words) { verb throws(UsageError) in
        guard let verb else { return Option.common }
        return try find(verb).options + Option.common
      }
      let console = Console(arguments, environment: environment)
      defer { console.flush() }
      return run(arguments, environment, console)
    } catch {
      // Only the words themselves were wrong, so nothing is known of `--json` but the words.
      let fallback = Console(isJSON: words.contains("--json"))
      Failure(error).print(on: fallback)
      fallback.flush()
      return .usage
    }
  }

  private static func run(
    _ arguments: Arguments, _ environment: [String: String], _ console: Console
  ) -> ExitCode {
    do {
      if arguments.has(.version) {
        console.result("pipeline \(version)")
        return .success
      }
      guard let name = arguments.verb else {
        if arguments.has(.help) {
          console.result(Help.overview(verbs))
          return .success
        }
        console.error(Help.overview(verbs))
        return .usage
      }
      let verb = try find(name)
      if arguments.has(.help) {
        console.result(Help.text(verb))
        return .success
      }
      let context = Context(
        arguments: arguments, environment: environment,
        workingFolder: try FileSystem.workingFolder(), console: console)
      return try verb.run(context)
    } catch {
      let failure = Failure(error)
      failure.print(on: console)
      return Interruption.shared.exitCode ?? failure.exitCode
    }
  }

  private static func find(_ name: String) throws(UsageError) -> any Verb.Type {
    guard let verb = verbs.first(where: { $0.name == name }) else {
      throw UsageError.unknownVerb(name, known: verbs.map { $0.name })
    }
    return verb
  }

  /// The words behind the program's name as the kernel gave them: not all of them are UTF-8.
  private static func commandLine() -> [BytePath] {
    (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      CommandLine.unsafeArgv[index].map { word in
        BytePath(
          bytes: UnsafeBufferPointer(start: word, count: strlen(word)).map {
            UInt8(bitPattern: $0)
          })
      }
    }
  }

  private static func environment() -> [String: String] {
    let names = ["PIPELINE_CONFIG", "XDG_CONFIG_HOME", "HOME", "TERM", "NO_COLOR"]
    return Dictionary(
      uniqueKeysWithValues: names.compactMap { name in
        getenv(name).map { (name, String(cString: $0)) }
      })
  }

  /// A group of files holds two descriptors for each; the soft limit is often only 1024.
  private static func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, 65_536)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
