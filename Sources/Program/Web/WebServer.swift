import Files
import Glibc
import Ingest
import LibrarySession
import PipelineModel
import Sandbox

/// The process that answers HTTP: reads what strangers send, and may only read the library.
package enum WebServer {
  /// Answers until the process that started this one ends it, or ends.
  ///
  /// Call it before this process has a second thread, because the sandbox does not confine existing
  /// threads.
  package static func run() -> Never {
    // Ctrl-C goes to all processes of a terminal; this one ends with the channel.
    for number in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { signal(number, SIG_IGN) }
    let stream = Descriptor(takingOver: WebLaunch.channel, path: "the channel to pipeline serve")
    // Less than this is for a person who started it by hand.
    guard (try? stream.status().kind) == .socket else {
      let line = Array(
        "pipeline-web: this program is internal; see `pipeline help serve`.\n".utf8)
      _ = write(STDERR_FILENO, line, line.count)
      _exit(2)
    }
    let channel = ParentChannel(stream)
    let lines = LineReader(stream, limit: 1 << 16)
    do {
      guard let line = try lines.next() else { _exit(1) }
      let launch = try JSONText.decode(WebLaunch.self, from: line)
      // Before the sandbox, in which it can't connect.
      let connections = try LibraryConnections(launch)
      try enterSandbox(launch)
      try serve(launch, connections, channel, lines)
    } catch let error as SandboxError {
      fail("The server can't enter its sandbox. \(error.message)", channel)
    } catch {
      fail(Failure(error).text, channel)
    }
    _exit(0)
  }

  private static func fail(_ message: String, _ channel: ParentChannel) -> Never {
    // If nobody is there to read it, nobody waits for it.
    try? channel.report(WebReadiness(error: message))
    _exit(1)
  }

  /// Gives up everything but reading the library, and answering on the listening socket.
  private static func enterSandbox(_ launch: WebLaunch) throws(SandboxError) {
    let folders = [launch.library, launch.catalogFolder]
    try Sandbox.enter(.serving(folders), names: folders)
  }

  /// The threads that answer.
  private static let threads = min(4, max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN))))

  /// Opens the library for those who answer at once, and for questions that wait for their turn.
  private struct LibraryConnections {
    let forAnswers: LibraryOpener
    let forQuestions: LibraryOpener

    init(_ launch: WebLaunch) throws {
      let layout = LibraryLayout(
        root: launch.library, catalogFolder: launch.catalogFolder,
        database: try launch.database.map { text throws(LocationFault) in
          try DatabaseLocation(text)
        })
      // One for each thread that answers, and one for news.
      forAnswers = try LibraryOpener(
        layout, isImmutable: launch.isImmutable, connections: WebServer.threads + 1)
      forQuestions = try LibraryOpener(
        layout, isImmutable: launch.isImmutable, connections: QueryPool.connections)
    }
  }

  private static func serve(
    _ launch: WebLaunch, _ connections: LibraryConnections, _ channel: ParentChannel,
    _ lines: LineReader
  ) throws {
    let shared = try SharedLibrary(connections.forAnswers)
    let pacing = ImportPacing()
    let pool = try QueryPool(connections.forQuestions, pace: pacing.questions)
    let events = EventHub()
    let requests = RequestMetrics(pacing)
    let counting = LibraryCounting(shared, pool)
    let responder = WebResponder(
      launch, shared: shared, pool: pool, events: events, channel: channel, requests: requests,
      counting: counting)
    let daemon = HTTPDaemon(responder, events: events, requests: requests, pace: pacing.answers)
    // Before requests can ask for changes by the same channel.
    try channel.report(WebReadiness())
    guard daemon.start(listener: WebLaunch.listener, threads: threads) else {
      throw ServingError(.server, "libmicrohttpd can't be started.")
    }
    let news = LibraryNews(
      shared: shared, pool: pool, events: events, connections: daemon.connections,
      channel: channel, counting: counting, answers: responder.answers, pacing: pacing)
    try news.start()
    channel.work(lines)
    daemon.quiesce()
    news.stop()
    events.close()
    pool.close()
    daemon.stop()
  }
}
