import Catalog
import Files
import Glibc
import LibraryControl
import LibrarySession
import PipelineModel
import PluginHost
import Synchronization

/// The program: parses the command line, runs the verb and returns its exit code.
@main
enum Pipeline {
  static let verbs: [any Verb.Type] = [
    InitVerb.self, RunVerb.self, WatchVerb.self, WorkVerb.self, NodesVerb.self,
    ServeVerb.self, PlanVerb.self, ImportVerb.self,
    ListVerb.self,
    CountVerb.self, SearchVerb.self, ShowVerb.self, GetVerb.self, ExportVerb.self, StatusVerb.self,
    ExplainVerb.self, FailedVerb.self, RetryVerb.self, TagVerb.self, RemoveVerb.self,
    TrashVerb.self, UndoVerb.self, GarbageVerb.self, VerifyVerb.self, RebuildCatalogVerb.self,
    MoveCatalogVerb.self, MoveOriginalsVerb.self, RestoreLibraryVerb.self,
    ConfigVerb.self, PluginsVerb.self,
    DoctorVerb.self, CompletionsVerb.self, HelpVerb.self,
  ]

  static func main() {
    openStandardStreams()
    // A worker enters its sandbox before its process does anything else.
    if let launch = workerLaunch() { WorkerMain.run(launch) }
    // If the reader goes away, `write` fails and the output ends quietly.
    signal(SIGPIPE, SIG_IGN)
    // Exceeding a file size limit fails one file, not the program.
    signal(SIGXFSZ, SIG_IGN)
    // A batch holds two descriptors per file; the soft limit is often 1024.
    DescriptorLimit.raise(to: 65_536)
    let code = run(words: commandLine(), environment: environment())
    // A worker ends with this process, but its children would not.
    ChildProcess.endAll()
    exit(code.rawValue)
  }

  private static func run(words: [BytePath], environment: [String: BytePath]) -> ExitCode {
    do {
      let arguments = try Arguments(words) { verb throws(UsageError) in
        guard let verb else { return Option.common }
        return try find(verb).options + Option.common
      } takesQuery: { verb in
        verbs.first { $0.name == verb }?.takesQuery ?? false
      }
      let console = Console(arguments, environment: environment)
      let code = run(arguments, environment, console)
      console.flush()
      let failure = console.writeError.load(ordering: .relaxed)
      guard failure != 0, code == .success || code == .someFailed else { return code }
      console.error(
        "pipeline: Can't write to standard output: \(String(cString: strerror(failure))).")
      return .fatal
    } catch {
      // Parsing failed, so only the raw arguments can tell whether `--json` was given.
      let fallback = Console(isJSON: words.contains("--json"))
      fallback.failure(error)
      fallback.flush()
      return .usage
    }
  }

  private static func run(
    _ arguments: Arguments, _ environment: [String: BytePath], _ console: Console
  ) -> ExitCode {
    do {
      if arguments.has(.version) {
        console.result("pipeline \(programVersion)")
        return .success
      }
      guard let name = arguments.verb else {
        if arguments.has(.help) {
          console.result(lines: Help.overview(verbs))
          return .success
        }
        console.error(lines: Help.overview(verbs))
        return .usage
      }
      let verb = try find(name)
      OwnProcess.verb = verb.name
      if arguments.has(.help) {
        console.result(lines: Help.text(verb))
        return .success
      }
      let context = Context(
        arguments: arguments, environment: environment,
        workingFolder: try FileSystem.workingFolder(), console: console)
      console.warnOfBusyCatalog(
        waitingAtMost: try context.duration(.wait)?.duration ?? .seconds(30))
      return try verb.run(context)
    } catch is BrokenPipe {
      // A reader such as `head` has what it wanted.
      return .success
    } catch {
      let code = console.failure(error)
      return SignalHandler.shared.exitCode ?? code
    }
  }

  static func find(_ name: String) throws(UsageError) -> any Verb.Type {
    guard let verb = verbs.first(where: { $0.name == name }) else {
      throw UsageError.unknownVerb(name, known: verbs.map { $0.name })
    }
    return verb
  }

  /// The launch description if this process is a worker: the program starts its workers as
  /// `pipeline worker JSON`, which is not for users.
  private static func workerLaunch() -> BytePath? {
    let words = commandLine()
    guard words.first == "worker" else { return nil }
    return words.count == 2 ? words[1] : ""
  }

  /// The raw arguments after the program's name, which need not be UTF-8.
  private static func commandLine() -> [BytePath] {
    (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      CommandLine.unsafeArgv[index].map { BytePath(cString: $0) }
    }
  }

  private static func environment() -> [String: BytePath] {
    let names = [
      "PIPELINE_CONFIG", "XDG_CONFIG_HOME", "HOME", "TERM", "NO_COLOR", "NOTIFY_SOCKET",
      "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS",
    ]
    return Dictionary(
      uniqueKeysWithValues: names.compactMap { name in
        getenv(name).map { (name, BytePath(cString: $0)) }
      })
  }

  /// Makes sure that descriptors 0, 1 and 2 are open. Otherwise the next opened file gets
  /// one of these numbers, and messages end up in it.
  private static func openStandardStreams() {
    for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 {
      _ = open("/dev/null", O_RDWR)
    }
  }
}
