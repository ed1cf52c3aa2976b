import Foundation
import Glibc
package import PipelineModel
package import PostgreSQL
import Synchronization

/// A PostgreSQL server of this process, which only it reaches, and which ends with it.
///
/// By default it has no TCP port, trusts everybody who reaches its socket, and flushes nothing to the disk.
package final class PostgreSQLServer: Sendable {
  private let folder: TemporaryFolder
  // Its end is the end of the server's standard input.
  private let lifeline = Pipe()
  private let process: Process
  private let count = Mutex(0)
  /// The TCP port of this machine that it listens on; `nil` for none.
  private let port: UInt16?

  private static let root = "/usr/lib/postgresql"

  /// The version of the newest installed server, as Debian installs it; `nil` if there is none.
  private static let version: Int? = {
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    return versions.compactMap { Int($0) }.filter { version in
      version >= 14
        && FileManager.default.isExecutableFile(atPath: "\(root)/\(version)/bin/initdb")
    }.max()
  }()

  /// The folder of that server's programs.
  package static let programs = version.map { "\(root)/\($0)/bin" }

  /// Options of a database that sorts texts as people do where a column does not say otherwise. Before version
  /// 15 databases had only the locales of the machine, which may have none.
  package static let alphabetical =
    version ?? 0 < 15 ? "" : "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'"

  package static var isInstalled: Bool { programs != nil }

  private static let started = Result { try PostgreSQLServer() }

  /// The server, started at the first call.
  package static var shared: PostgreSQLServer { get throws { try started.get() } }

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - settings: of the server, such as `fsync=off`.
  ///   - port: a free TCP port of this machine to listen on as well; by default none.
  ///   - smallDisk: the size of a disk in memory, such as `24m`, for a database made with `onSmallDisk`; by default none.
  ///   - network: where it listens as the first machine, to anybody; by default nowhere.
  package init(
    settings: [String] = ["fsync=off", "max_wal_size=128MB"], port: UInt16? = nil,
    smallDisk: String? = nil, network: SeparateNetwork? = nil
  ) throws {
    self.port = port
    var listening = port.map { ["listen_addresses=127.0.0.1", "port=\($0)"] } ?? []
    if network != nil { listening = ["listen_addresses=\(SeparateNetwork.address(.first))"] }
    guard let programs = Self.programs else { throw POSIXError(.ENOENT) }
    folder = try TemporaryFolder()
    // PostgreSQL refuses to work as root.
    guard chmod(folder.path.description, 0o711) == 0,
      geteuid() != 0 || chown(folder.path.description, Unprivileged.user, Unprivileged.user) == 0
    else { throw POSIXError(.EPERM) }
    let script = """
      cd "$1" || exit 1
      "$0/initdb" -D data -U pipeline -A trust --no-sync --locale=C -E UTF8 >log 2>&1 || exit 1
      echo host all all samenet trust >>data/pg_hba.conf
      settings=; for setting in "${@:2}"; do settings="$settings -c $setting"; done
      start() { "$0/postgres" -D data -k "$1" -c listen_addresses= $settings >>log 2>&1 </dev/null & }
      start "$1"
      while read -r order; do
        case $order in
          start) start "$1" ;;
          standby) touch data/standby.signal; start "$1" ;;
          *) kill "-$order" $!; wait ;;
        esac
      done
      kill -QUIT $!; wait
      # The process that started it has ended, and a gigabyte of databases would stay.
      rm -rf data
      """
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      (network?.prefix(.first) ?? []) + Unprivileged.prefix
      + Self.mounting(smallDisk, at: folder.path.appending(Self.disk))
      + ["bash", "-c", script, programs, folder.path.description] + settings + listening
    process.standardInput = lifeline
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    try lifeline.fileHandleForReading.close()
    self.process = process
    try wait { $0 == nil }
  }

  private static let disk: BytePath = "disk"

  /// Words before a command that is to have a disk in memory, as the same user.
  private static func mounting(_ size: String?, at path: BytePath) -> [String] {
    guard let size else { return [] }
    return [
      "unshare", "--user", "--map-current-user", "--mount", "--keep-caps", "sh", "-c",
      "mkdir \"$0\" && mount -t tmpfs -o size=\"$1\",mode=700 tmpfs \"$0\" && shift && exec \"$@\"",
      path.description, size,
    ]
  }

  /// How a server is stopped.
  package enum Stop: String, Sendable {
    /// Connections are ended.
    case fast = "INT"
    /// As by a crash: the next start recovers.
    case immediate = "QUIT"
  }

  /// Stops the server; it has written all it will, and nobody can connect, when this returns.
  package func stop(_ manner: Stop = .fast) throws {
    try lifeline.fileHandleForWriting.write(contentsOf: Data("\(manner.rawValue)\n".utf8))
    // The server removes it at its end.
    let file = folder.path.appending("data/postmaster.pid").description
    try wait { $0?.code == .connection && access(file, F_OK) != 0 }
  }

  /// Starts the server again.
  package func start() throws {
    try lifeline.fileHandleForWriting.write(contentsOf: Data("start\n".utf8))
    try wait { $0 == nil }
  }

  /// Starts the server again as a standby, which can be read, and waits to be promoted.
  package func startAsStandby() throws {
    try lifeline.fileHandleForWriting.write(contentsOf: Data("standby\n".utf8))
    try wait { $0 == nil }
  }

  /// Makes a standby a server that can be changed.
  package func promote() throws {
    let connection = try PostgreSQLConnection(try address(of: "postgres"), applicationName: "tests")
    defer { connection.close() }
    try connection.execute("SELECT pg_promote()")
  }

  /// Connects until the outcome is as wanted.
  private func wait(for isWanted: (PostgreSQLError?) -> Bool) throws {
    let end = ContinuousClock().now + .seconds(60)
    while true {
      var failure: PostgreSQLError?
      let address = try address(of: "postgres")
      do throws(PostgreSQLError) {
        try PostgreSQLConnection(address, applicationName: "tests").close()
      } catch {
        failure = error
      }
      if isWanted(failure) { return }
      guard process.isRunning, ContinuousClock().now < end else {
        throw failure ?? POSIXError(.ETIMEDOUT)
      }
      usleep(20_000)
    }
  }

  /// The variables by which libpq finds it where an address does not say it.
  package var variables: [String: String] {
    ["PGHOST": folder.path.description, "PGUSER": "pipeline"]
  }

  private func address(of database: String) throws -> DatabaseLocation {
    let place = port.map { "&port=\($0)" } ?? ""
    let host = Self.encode(folder.path.description)
    return try DatabaseLocation("postgresql:///\(database)?host=\(host)&user=pipeline\(place)")
  }

  /// A path as an address has it.
  private static func encode(_ path: String) -> String { path.replacing("/", with: "%2F") }

  /// The folder of the socket that an address of a database names.
  static func socketFolder(of database: DatabaseLocation) throws -> String {
    let host = database.uri.split(separator: "host=").last?.split(separator: "&").first
    guard let host else { throw POSIXError(.EINVAL) }
    return String(host).replacing("%2F", with: "/")
  }

  /// The same database by a socket in another folder.
  static func move(_ database: DatabaseLocation, to folder: BytePath) throws -> DatabaseLocation {
    let former = try encode(socketFolder(of: database))
    return try DatabaseLocation(database.uri.replacing(former, with: encode(folder.description)))
  }

  /// Makes an empty database.
  package func makeDatabase(_ options: String = "") throws -> DatabaseLocation {
    let number = count.withLock { count in
      count += 1
      return count
    }
    let connection = try PostgreSQLConnection(try address(of: "postgres"), applicationName: "tests")
    defer { connection.close() }
    try connection.execute("CREATE DATABASE test\(number) \(options)")
    return try address(of: "test\(number)")
  }

  /// Makes a copy of a database that no program uses.
  package func copy(_ original: DatabaseLocation) throws -> DatabaseLocation {
    try endSessions(of: original)
    return try makeDatabase("TEMPLATE \(Self.name(of: original))")
  }

  /// Makes a database anew as a copy.
  package func replace(_ database: DatabaseLocation, by copy: DatabaseLocation) throws {
    let connection = try PostgreSQLConnection(try address(of: "postgres"), applicationName: "tests")
    defer { connection.close() }
    let name = Self.name(of: database)
    try connection.execute("DROP DATABASE \(name) WITH (FORCE)")
    try connection.execute("CREATE DATABASE \(name) TEMPLATE \(Self.name(of: copy))")
  }

  /// Ends what programs have left that were killed.
  private func endSessions(of database: DatabaseLocation) throws {
    let connection = try PostgreSQLConnection(try address(of: "postgres"), applicationName: "tests")
    defer { connection.close() }
    let sessions = "pg_stat_activity WHERE datname = '\(Self.name(of: database))'"
    try connection.execute(
      "DO $$ BEGIN PERFORM pg_terminate_backend(pid, 10000) FROM \(sessions); END $$")
  }

  private static func name(of database: DatabaseLocation) -> Substring {
    database.uri.dropFirst("postgresql:///".count).prefix { $0 != "?" }
  }

  /// What makes a database on the small disk.
  package func onSmallDisk() throws -> String {
    let connection = try PostgreSQLConnection(try address(of: "postgres"), applicationName: "tests")
    defer { connection.close() }
    try connection.execute(
      "CREATE TABLESPACE small LOCATION '\(folder.path.appending(Self.disk))'")
    return "TABLESPACE small"
  }

  /// Fills the small disk, or empties it again; by a file that the server writes.
  package func fillSmallDisk(_ isFull: Bool) throws {
    let connection = try PostgreSQLConnection(try address(of: "postgres"), applicationName: "tests")
    defer { connection.close() }
    let rows = isFull ? "SELECT repeat('x', 1000) FROM generate_series(1, 1000000)" : "SELECT 1"
    do {
      try connection.execute("COPY (\(rows)) TO '\(folder.path.appending(Self.disk))/filler'")
    } catch {
      // That is how it gets full.
      guard isFull else { throw error }
    }
  }
}

/// Backups.
extension PostgreSQLServer {
  /// Writes what a database has into a file, while others use it.
  package func dump(_ database: DatabaseLocation, to file: BytePath) throws {
    try run("pg_dump", ["-Fc", "-f", file.description, String(Self.name(of: database))])
  }

  /// Makes a database anew from such a file, whoever is connected to it.
  ///
  /// - Parameters:
  ///   - options: of pg_restore, which replaces what is there by them; by default the database itself is replaced.
  ///   - parts: what of it is restored, as options of pg_restore.
  package func restore(
    _ database: DatabaseLocation, from file: BytePath, replacing options: [String]? = nil,
    _ parts: [String] = []
  ) throws {
    let name = String(Self.name(of: database))
    if options == nil { try empty(database) }
    let words = (options ?? []) + parts + ["-d", name, file.description]
    // What removes tables may be undone because of a deadlock with programs that look at them.
    for _ in 0..<4 { if (try? run("pg_restore", words)) != nil { return } }
    try run("pg_restore", words)
  }

  /// Makes a database anew, without anything, whoever is connected to it.
  package func empty(_ database: DatabaseLocation) throws {
    let name = String(Self.name(of: database))
    try run("dropdb", ["--force", name])
    try run("createdb", [name])
  }

  private func run(_ program: String, _ words: [String]) throws {
    let process = Process()
    process.executableURL = URL(filePath: "\(Self.programs ?? "")/\(program)")
    process.arguments = words
    process.environment = variables
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw POSIXError(.EIO) }
  }
}

/// Servers that do not let everybody in.
extension PostgreSQLServer {
  /// A port that nothing listens on; another process may take it meanwhile.
  package static func freePort() throws -> UInt16 {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { Glibc.close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(listener, generic, length) == 0 && getsockname(listener, generic, &length) == 0
      }
    }
    guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
    return UInt16(bigEndian: address.sin_port)
  }

  /// Where a database is by TCP, which `init` was given a port for.
  package func networkAddress(
    of address: DatabaseLocation, _ parameters: String
  ) throws -> DatabaseLocation {
    let name = Self.name(of: address)
    return try DatabaseLocation(
      "postgresql://localhost:\(port ?? 0)/\(name)?hostaddr=127.0.0.1&user=pipeline&\(parameters)")
  }

  /// Where a database is for the second machine of a network.
  package func address(of address: DatabaseLocation, in network: SeparateNetwork) throws
    -> DatabaseLocation
  {
    try DatabaseLocation(
      "postgresql://pipeline@\(SeparateNetwork.address(.first))/\(Self.name(of: address))?sslmode=disable"
    )
  }

  /// Asks everybody for a password from now on who is not connected.
  ///
  /// - Parameter connection: of a database of this server.
  package func requirePassword(_ password: String, _ connection: PostgreSQLConnection) throws {
    try connection.execute("ALTER USER pipeline PASSWORD '\(password)'")
    // It runs in the folder of the data.
    try connection.execute(
      "COPY (SELECT 'local all all scram-sha-256') TO PROGRAM 'cat > pg_hba.conf'")
    try connection.execute("SELECT pg_reload_conf()")
    try wait { $0?.code == .connection }
  }

  /// Encrypts connections by TCP from now on, with a certificate that nobody vouches for.
  ///
  /// - Returns: the certificate.
  package func encrypt(_ connection: PostgreSQLConnection) throws -> BytePath {
    try connection.execute(
      """
      COPY (SELECT '') TO PROGRAM 'umask 077; openssl req -x509 -newkey rsa:2048 -nodes -days 2 \
        -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout server.key -out server.crt 2>openssl.log \
        && cp server.crt .. && chmod 644 ../server.crt'
      """)
    try connection.execute("ALTER SYSTEM SET ssl = on")
    try connection.execute("SELECT pg_reload_conf()")
    return folder.path.appending("server.crt")
  }

  /// What it has logged.
  package var log: String {
    get throws {
      try String(
        contentsOf: URL(filePath: folder.path.appending("log").description), encoding: .utf8)
    }
  }
}
