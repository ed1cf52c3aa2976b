import Foundation
import Glibc
package import PipelineModel

/// A pgbouncer before a `PostgreSQLServer`, which only this process reaches, and which ends with it.
package final class ConnectionPooler {
  /// When a session of the server is free for the next client.
  package enum Mode: String, Sendable {
    case session, transaction
  }

  private static let program = "/usr/sbin/pgbouncer"

  package static var isInstalled: Bool { access(program, X_OK) == 0 }

  private static let socket: BytePath = ".s.PGSQL.6432"

  private let folder: TemporaryFolder
  private let database: DatabaseLocation
  private var process: Process
  // Its end is the end of the pooler's standard input.
  private var lifeline = Pipe()

  /// - Parameters:
  ///   - database: of a server without a TCP port.
  ///   - more: lines of its configuration.
  package init(to database: DatabaseLocation, _ mode: Mode, settings more: [String] = []) throws {
    self.database = database
    folder = try TemporaryFolder()
    let host = try PostgreSQLServer.socketFolder(of: database)
    let settings = """
      [databases]
      * = host=\(host) user=pipeline
      [pgbouncer]
      listen_addr =
      unix_socket_dir = \(folder.path)
      auth_type = any
      pool_mode = \(mode.rawValue)
      \(more.joined(separator: "\n"))
      """
    let file = URL(filePath: folder.path.appending("pgbouncer.ini").description)
    try Data(settings.utf8).write(to: file)
    // It refuses to work as root.
    guard
      geteuid() != 0 || chown(folder.path.description, Unprivileged.user, Unprivileged.user) == 0
    else { throw POSIXError(.EPERM) }
    process = try Self.start(file, lifeline)
    try waitUntilThere()
  }

  deinit { end() }

  private func end() {
    try? lifeline.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  private static func start(_ settings: URL, _ lifeline: Pipe) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    // It inherits that this process's threads block the signals by which it would be asked to end.
    process.arguments =
      Unprivileged.prefix + [
        "bash", "-c", #""$0" "$1" & read -r; kill -KILL $!"#, program, settings.path,
      ]
    process.standardInput = lifeline
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    try lifeline.fileHandleForReading.close()
    return process
  }

  private func waitUntilThere() throws {
    let end = ContinuousClock.now + .seconds(30)
    let socket = folder.path.appending(Self.socket).description
    while !LocalAddress.isListening(at: socket) {
      guard process.isRunning, ContinuousClock.now < end else { throw POSIXError(.ETIMEDOUT) }
      usleep(10_000)
    }
  }

  /// Ends it, with all connections, and starts it again.
  package func restart() throws {
    end()
    lifeline = Pipe()
    unlink(folder.path.appending(Self.socket).description)
    process = try Self.start(
      URL(filePath: folder.path.appending("pgbouncer.ini").description), lifeline)
    try waitUntilThere()
  }

  /// Where the database is behind it.
  package var address: DatabaseLocation {
    get throws {
      try DatabaseLocation(
        PostgreSQLServer.move(database, to: folder.path).uri + "&port=6432")
    }
  }
}
