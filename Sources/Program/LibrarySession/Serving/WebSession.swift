import Catalog
import Configuration
import Files
import Glibc
package import Ingest
package import PipelineModel
import PluginHost
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

  /// How often to look whether the databases were replaced.
  private static let interval = Duration.seconds(1)
  /// How long the other process may take to end.
  private static let patience = Duration.seconds(5)

  /// Checks everything that can be checked before it listens.
  ///
  /// - Parameters:
  ///   - wakeup: woken by signals.
  ///   - warn: receives a sentence when pictures can't be kept; called on any thread.
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
    guard setup.layout.database == nil else {
      // The process that answers can open no connection in its sandbox.
      throw ServingError(
        .usage,
        "`pipeline serve` can't show a library yet whose catalog is in PostgreSQL. All other verbs work."
      )
    }
    readable = try ReadableLibrary(setup.layout)
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
    let (child, own) = try start(listener)
    defer { end(child, own) }
    let launch = Array((try JSONText.encode(launch) + "\n").utf8)
    // A channel that can't be used is that of a process that ended.
    guard (try? own.write(launch)) != nil else { throw Self.ended }
    try WebReadiness.wait(on: own)
    let pictures = try PictureDesk(search, setup.configuration, warn: warn)
    let desk = WebRequestDesk(
      channel: own, search: search, allowed: options.allowed, pictures: pictures)
    try desk.open { [wakeup] in wakeup.wake() }
    ready(try url(listener))
    service.ready()
    while !isStopped() {
      wakeup.sleep(until: .now + Self.interval)
      service.ping()
      if isStopped() { break }
      if child.reap() != nil { throw Self.ended }
      keepOpen()
    }
    service.stopping()
  }

  package static let ended = ServingError(
    .server, "The process that answers requests ended; its message, if any, stands above.")

  /// Has the databases open, whatever replaced them meanwhile: SQLite removes the files that the
  /// other process reads, and can't make, when nobody has.
  ///
  /// It also reads a little, by which SQLite puts in order what a process that was killed left half
  /// done; the other process can't. What goes wrong is told to whoever asks next.
  private mutating func keepOpen() {
    // While a catalog is made anew there may be none; the next look finds it.
    if readable.isOutdated, let other = try? ReadableLibrary(setup.layout) { readable = other }
    _ = try? readable.catalog.lastManifestPosition
    try? readable.catalog.keepRenditionsOpen()
  }

  private var launch: WebLaunch {
    WebLaunch(
      library: setup.layout.root, catalogFolder: setup.layout.catalogFolder,
      isImmutable: readable.isImmutable, sources: setup.configuration.sources.map(\.path),
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

  /// Starts the process that answers.
  ///
  /// - Returns: also this end of its channel. The other end is open in that process alone, so that the
  ///   channel ends with it.
  private func start(_ listener: Descriptor) throws -> (ChildProcess, Descriptor) {
    guard let program = Self.program else {
      throw ServingError(
        .server,
        "The program pipeline-web is missing: this pipeline was built without libmicrohttpd.")
    }
    let (own, other) = try Descriptor.makeSocketPair("the channel to the server")
    let null = try Descriptor.open("/dev/null", flags: O_RDWR)
    let errors = try CurrentProcess.duplicate(STDERR_FILENO, path: "standard error")
    var environment: [BytePath] = ["LANG=C.UTF-8"]
    for name in ["LD_LIBRARY_PATH", "TZ"] {
      if let value = getenv(name) {
        environment.append(BytePath(cString: value).assigned(to: name))
      }
    }
    let child = try ChildProcess.start(
      program, arguments: ["pipeline-web"], environment: environment,
      descriptors: [null, null, errors, listener, other])
    return (child, own)
  }

  /// Beside this program in the build folder; installed, in `lib/pipeline`.
  package static var program: BytePath? {
    guard let home = PluginFinder.ownExecutable?.parent else { return nil }
    return [home.appending("pipeline-web"), home.parent.appending("lib/pipeline/pipeline-web")]
      .first { (try? FileSystem.status(of: $0).kind) == .regular }
  }

  /// The end of the channel ends the process.
  private func end(_ child: ChildProcess, _ channel: Descriptor) {
    channel.disconnect()
    let deadline = ContinuousClock.now + Self.patience
    while child.reap() == nil {
      if ContinuousClock.now >= deadline {
        child.signalGroup(SIGKILL)
        return
      }
      usleep(2000)
    }
  }
}

extension BytePath {
  /// This as the value of an environment variable.
  fileprivate func assigned(to name: String) -> BytePath {
    BytePath(bytes: Array("\(name)=".utf8) + bytes)
  }
}
