import Catalog
import Configuration
import Files
import Glibc
package import Ingest
package import PipelineModel
import PluginHost
import Records
import Synchronization

/// `serve`: listens, and starts the process that answers, in a sandbox of its own.
///
/// This process reads no request. It holds the library's databases open, so that the other one can read
/// them without writing anything, and makes the changes that it may ask for.
package struct WebSession {
  private let setup: LibrarySetup
  private let search: ConfigurationSearch
  private let options: WebOptions
  private let wakeup: Wakeup
  private let service: ServiceManager
  private let warn: @Sendable (String) -> Void
  private var readable: ReadableLibrary
  private var state = DatabaseState.there
  /// Tells the process that answers.
  private var tell: @Sendable (WebAnswer.Outcome) -> Void = { _ in }

  /// What the last look at the database has found.
  private enum DatabaseState {
    case there, away
    /// It refuses to be read, because rights are missing.
    case denied
  }

  /// How often to look whether the databases were replaced.
  private static let interval = Duration.seconds(1)
  /// How long to wait for an answer of the catalog.
  private static let patience = Duration.seconds(3)

  /// Checks everything that can be checked before it listens.
  ///
  /// - Parameters:
  ///   - wakeup: woken by signals.
  ///   - warn: receives a sentence when pictures can't be kept, or the database can't be read; called on any
  ///     thread.
  package init(
    _ search: ConfigurationSearch, _ options: WebOptions, service: ServiceManager, wakeup: Wakeup,
    warn: @escaping @Sendable (String) -> Void
  ) throws {
    try options.check()
    self.search = search
    self.options = options
    self.service = service
    self.wakeup = wakeup
    self.warn = Self.once(warn)
    setup = try LibrarySetup(search)
    readable = try Self.open(setup.layout)
    try readable.catalog.keepRenditionsOpen()
  }

  /// Serves until a signal.
  ///
  /// - Parameters:
  ///   - isStopped: whether a signal came.
  ///   - ready: called with the URL once it answers; `nil` where none can be told.
  package mutating func run(
    environment: [String: String], isStopped: () -> Bool, ready: (String?) -> Void
  ) throws {
    let listener = try listen(environment)
    let name = try socketName()
    // While it is open, nothing else can have its inode.
    defer { withExtendedLifetime(listener) { name?.removeIfOwn() } }
    var process = try start(listener)
    defer { process.end() }
    ready(try url(listener))
    service.ready()
    // Kept until another process has started: what made it needed is found only once.
    var needsAnother = false
    while !isStopped() {
      wakeup.sleep(until: .now + Self.interval)
      service.ping()
      if isStopped() { break }
      if process.child.reap() != nil { throw Self.ended }
      if keepOpen() { needsAnother = true }
      guard needsAnother || process.hasLostDatabase, isReachable else { continue }
      // It can't connect by itself, so another one takes its place. If that can't, the next look tries again.
      guard var other = try? start(listener) else { continue }
      swap(&process, &other)
      other.end()
      needsAnother = false
    }
    service.stopping()
  }

  /// Opens the library for a process that only looks.
  private static func open(_ layout: LibraryLayout) throws -> ReadableLibrary {
    guard layout.database != nil else { return try ReadableLibrary(layout) }
    // A lost connection is to be told of at once.
    let catalog = try CatalogReader.open(
      at: layout.catalogPlace, immutable: false, isConfined: true)
    return try ReadableLibrary(layout, opened: catalog)
  }

  package static let ended = ServingError(
    .server, "The process that answers requests ended; its message, if any, stands above.")

  /// Has the databases open, whatever replaced them meanwhile: SQLite removes the files that the
  /// other process reads, and can't make, when nobody has.
  ///
  /// It also reads a little, by which SQLite puts in order what a process that was killed left half
  /// done; the other process can't. What goes wrong is told to whoever asks next.
  ///
  /// - Returns: whether there is another catalog in a database, or another connection to it.
  private mutating func keepOpen() -> Bool {
    var failure = failure
    let isLost = setup.layout.database != nil && failure != nil
    var isAnother = false
    // While a catalog is made anew there may be none; the next look finds it.
    let isOutdated = (try? within(Self.patience) { readable.isOutdated }) ?? false
    if isLost || isOutdated {
      do {
        readable = try Self.open(setup.layout)
        isAnother = setup.layout.database != nil
        failure = self.failure
      } catch {
        failure = error
      }
    }
    if setup.layout.database != nil { note(failure) }
    try? readable.catalog.keepRenditionsOpen()
    return isAnother
  }

  /// Says it when the state of the database changes.
  private mutating func note(_ failure: (any Error)?) {
    let before = state
    switch (failure as? CatalogError)?.code {
    case .unreachable: state = .away
    case .readOnly: state = .denied
    // What else goes wrong, such as a limit of time, says nothing of it.
    default: if failure == nil { state = .there }
    }
    guard state != before else { return }
    let reason = failure.map { Failure($0).text }
    warn(
      reason.map { "\($0) The server goes on by itself as soon as it can." }
        ?? "The library's database can be read again.")
    // On a thread of its own: it may wait for the other process. Without one, the old sentence is said.
    try? DedicatedThread.start { [tell, state] in tell(.database(isDenied: state == .denied)) }
  }

  private var isReachable: Bool { failure == nil }

  /// Why the catalog can't be read within some seconds.
  private var failure: (any Error)? {
    do {
      _ = try within(Self.patience) { try readable.catalog.lastManifestPosition }
      return nil
    } catch {
      return error
    }
  }

  /// Reads with a limit, because signals and the service manager are served by the same thread.
  private func within<Value>(_ patience: Duration, _ body: () throws -> Value) throws -> Value {
    let end = ContinuousClock.now + patience
    return try readable.catalog.interruptible(when: { ContinuousClock.now > end }, body)
  }

  private var launch: WebLaunch {
    WebLaunch(
      library: setup.layout.root, catalogFolder: setup.layout.catalogFolder,
      database: setup.layout.database?.description, isImmutable: readable.isImmutable,
      sources: setup.recordedSources,
      reserve: setup.reserve(),
      hosts: options.hosts, base: options.base?.path ?? "/",
      isSecure: options.base?.isSecure ?? false, token: options.token, allowed: options.allowed,
      hidden: options.hidden, renditions: ConfiguredRenditions(setup.configuration.stages),
      maxPixelSize: setup.configuration.onDemand.maxPixelSize)
  }

  /// Says a sentence again only after another one: it may be true of each picture.
  private static func once(
    _ warn: @escaping @Sendable (String) -> Void
  ) -> @Sendable (String) -> Void {
    let last = SharedText()
    return { text in if last.replace(by: text) != text { warn(text) } }
  }

  private final class SharedText: Sendable {
    private let text = Mutex("")

    /// - Returns: the text before.
    func replace(by new: String) -> String {
      text.withLock { text in
        defer { text = new }
        return text
      }
    }
  }

  /// The name that a Unix socket has got in its folder; `nil` for other sockets.
  private func socketName() throws(FileError) -> ListeningSocket.Name? {
    guard case .socket(let path) = options.place else { return nil }
    return try ListeningSocket.Name(path)
  }

  /// The other process of a `serve` that was killed listens until it sees that, a moment later.
  private func waiting(
    _ listen: () throws(FileError) -> Descriptor
  ) throws(FileError) -> Descriptor {
    let deadline = ContinuousClock.now + .seconds(1)
    while true {
      do throws(FileError) {
        return try listen()
      } catch let error where error.errno == EADDRINUSE && ContinuousClock.now < deadline {
        usleep(20_000)
      }
    }
  }

  private func listen(_ environment: [String: String]) throws -> Descriptor {
    var inherited: Descriptor?
    var isLocal = false
    do throws(FileError) {
      switch options.place {
      case .address(let host, let port):
        return try waiting { () throws(FileError) in
          try ListeningSocket.listen(on: host, port: port)
        }
      case .socket(let path):
        return try waiting { () throws(FileError) in try ListeningSocket.listen(at: path) }
      case .inherited:
        if let socket = try ListeningSocket.inherit(environment) {
          isLocal = try ListeningSocket.isLocal(socket)
          inherited = socket
        }
      }
    } catch {
      let advice =
        switch error.errno {
        case EADDRINUSE: " Another program listens there: choose another port with --listen."
        case EACCES: " Ports below 1024 need a privilege; let a proxy have them."
        case EADDRNOTAVAIL: " This machine has no such address."
        default: ""
        }
      throw ServingError(.address, error.message + advice)
    }
    guard let inherited else {
      throw ServingError(
        .usage,
        "With --listen systemd, a socket unit has to hand over exactly one listening socket.")
    }
    guard isLocal || options.isForOthers else {
      throw ServingError(.usage, WebOptions.warning(of: "the socket unit's address"))
    }
    return inherited
  }

  private func url(_ listener: Descriptor) throws -> String? {
    guard case .address(let host, _) = options.place,
      let port = try ListeningSocket.port(of: listener)
    else { return nil }
    return "http://\(host.contains(":") ? "[\(host)]" : host):\(port)/"
  }

  /// Starts the process that answers, and waits until it is ready.
  private mutating func start(_ listener: Descriptor) throws -> WebProcess {
    let process = try WebProcess(listener, environment: variables)
    do {
      try process.launch(launch)
      let pictures = try PictureDesk(search, setup.configuration, warn: warn)
      let desk = WebRequestDesk(
        channel: process.channel, search: search, allowed: options.allowed, pictures: pictures)
      tell = try desk.open {
        process.noteLostDatabase()
      } onEnd: { [wakeup] in
        wakeup.wake()
      }
    } catch {
      process.end()
      throw error
    }
    return process
  }

  /// The variables that the process gets: what libraries and times need, and those by which a database is
  /// reached, if the catalog is in one.
  private var variables: [BytePath] {
    let beginnings =
      ["LD_LIBRARY_PATH=", "TZ="] + (setup.layout.database == nil ? [] : ["HOME=", "PG"])
    return ["LANG=C.UTF-8"]
      + CurrentProcess.variables.filter { variable in
        beginnings.contains { variable.bytes.starts(with: $0.utf8) }
      }
  }

  /// Beside this program in the build folder; installed, in `lib/pipeline`.
  package static var program: BytePath? {
    guard let home = PluginFinder.ownExecutable?.parent else { return nil }
    return [home.appending("pipeline-web"), home.parent.appending("lib/pipeline/pipeline-web")]
      .first { (try? FileSystem.status(of: $0).kind) == .regular }
  }
}
