import Foundation
import Glibc
package import PipelineModel
import Synchronization

/// A socket between a program and a PostgreSQL server that cuts connections at a given moment.
package final class DatabaseProxy: Sendable {
  package enum Cut: Sendable {
    /// Before the server gets a commit.
    case beforeCommit
    /// After the server has got a commit, whether it has made it or not.
    case duringCommit
    /// After the server has answered a commit, and before the program gets the answer.
    case afterCommit
  }

  private let folder: TemporaryFolder
  private let server: String
  private let listener: Int32
  private let next = Shared<Cut?>(nil)
  /// How many commits pass before all is stalled; `nil` if that never happens.
  private let passing = Shared<Int?>(nil)
  /// How many bytes to the server pass before its connections are stalled; `nil` if that never happens.
  private let passingBytes = Shared<Int?>(nil)
  private let cuts = Shared(0)
  /// Whether the first connections, and those that are made later, are stalled.
  private let (first, later) = (Shared(false), Shared(false))
  private let isLater = Shared(false)
  private let isRefusing = Shared(false)
  private let delay = Shared(UInt32(0))
  private let clients = Shared<[Int32]>([])
  private let connections = Shared(0)
  private let ends = Shared(0)
  private let withheld = Shared(0)
  package let address: DatabaseLocation

  /// - Parameter database: the address of a database of `PostgreSQLServer`.
  package init(to database: DatabaseLocation) throws {
    folder = try TemporaryFolder()
    server = "\(try PostgreSQLServer.socketFolder(of: database))/.s.PGSQL.5432"
    address = try PostgreSQLServer.move(database, to: folder.path)
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let result = LocalAddress.with("\(folder.path)/.s.PGSQL.5432") { bind(listener, $0, $1) }
    guard result == 0, listen(listener, 16) == 0 else { throw POSIXError(.EADDRINUSE) }
    let thread = Thread { [listener, weak self] in
      while case let client = accept(listener, nil, nil), client >= 0 {
        guard let self else { break }
        serve(client)
      }
    }
    thread.start()
  }

  deinit {
    // Threads that wait for it end.
    goOn()
    shutdown(listener, Int32(SHUT_RDWR))
    Glibc.close(listener)
  }

  /// Cuts a connection at its next commit.
  package func cut(_ moment: Cut) { next.withLock { $0 = moment } }

  /// Which connections are stalled.
  package enum Part: Sendable {
    case all
    /// Those that were made before.
    case former
    /// Those that are made later.
    case later
  }

  /// Passes nothing on any longer, in no direction: as if the network had lost it all.
  package func stall(_ part: Part = .all) {
    isLater.withLock { $0 = true }
    first.withLock { $0 = part != .later }
    later.withLock { $0 = part != .former }
  }

  /// Passes some commits on, and nothing from the next one on.
  package func stall(afterCommits count: Int) { passing.withLock { $0 = count } }

  /// Passes some bytes on to the server, and nothing afterwards, on the connections that there are.
  package func stall(afterBytes count: Int) { passingBytes.withLock { $0 = count } }

  /// Counts bytes; returns whether more have come than are to pass.
  private func isBeyond(_ count: Int) -> Bool {
    passingBytes.withLock { left in
      guard let rest = left else { return false }
      left = rest > count ? rest - count : nil
      return left == nil
    }
  }

  /// Counts a commit; returns whether it is one that is not to pass.
  private func isLast() -> Bool {
    passing.withLock { count in
      guard let left = count else { return false }
      count = left > 0 ? left - 1 : nil
      return left == 0
    }
  }

  /// Passes on what was withheld.
  package func goOn() { for stall in [first, later] { stall.withLock { $0 = false } } }

  /// Ends all connections and takes no others, as if the server had been stopped.
  package func refuse() {
    isRefusing.withLock { $0 = true }
    for client in clients.withLock({ $0 }) { shutdown(client, Int32(SHUT_RDWR)) }
  }

  /// Takes connections again.
  package func admit() { isRefusing.withLock { $0 = false } }

  /// Takes so many microseconds for each 64 KiB or less that go to the server from now on.
  package func slowDown(by microseconds: UInt32) { delay.withLock { $0 = microseconds } }

  /// How many times bytes were withheld since the proxy was stalled.
  package var withheldCount: Int { withheld.withLock { $0 } }

  /// How many connections were made.
  package var connectionCount: Int { connections.withLock { $0 } }

  /// How many connections have ended.
  package var endCount: Int { ends.withLock { $0 } }

  /// How many connections were cut.
  package var cutCount: Int { cuts.withLock { $0 } }

  private func serve(_ client: Int32) {
    let upstream = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let isRefused = isRefusing.withLock { isRefusing in
      if !isRefusing { clients.withLock { $0.append(client) } }
      return isRefusing
    }
    guard !isRefused, LocalAddress.with(server, { connect(upstream, $0, $1) }) == 0 else {
      // Its descriptor stays, as those of all others.
      Glibc.close(upstream)
      shutdown(client, Int32(SHUT_RDWR))
      return
    }
    // Whether the answer of a commit is awaited, which nobody gets.
    let isCutting = Shared(false)
    let (next, cuts, withheld, ends, delay) = (next, cuts, withheld, ends, delay)
    connections.withLock { $0 += 1 }
    let stall = isLater.withLock { $0 } ? later : first
    let awaitEnd: @Sendable () -> Void = {
      guard stall.withLock({ $0 }) else { return }
      withheld.withLock { $0 += 1 }
      while stall.withLock({ $0 }) { usleep(10_000) }
    }
    Thread.detachNewThread {
      Self.pump(client, upstream) { [weak self] bytes in
        if Self.hasCommit(bytes), self?.isLast() == true { self?.stall() }
        if self?.isBeyond(bytes.count) == true { self?.stall(.former) }
        awaitEnd()
        usleep(delay.withLock { $0 })
        guard Self.hasCommit(bytes), let cut = next.withLock({ take(&$0) }) else { return .on }
        cuts.withLock { $0 += 1 }
        switch cut {
        case .beforeCommit: return .nowhere
        case .duringCommit: return .asTheLast
        case .afterCommit:
          isCutting.withLock { $0 = true }
          return .on
        }
      }
    }
    Thread.detachNewThread {
      Self.pump(upstream, client) { _ in
        awaitEnd()
        return isCutting.withLock { $0 } ? .nowhere : .on
      }
      ends.withLock { $0 += 1 }
    }
  }

  /// Where bytes are passed; a connection is cut after all but the first.
  private enum Passage { case on, asTheLast, nowhere }

  /// Copies bytes until one side ends, or a closure has the connection cut.
  private static func pump(_ from: Int32, _ to: Int32, _ passage: ([UInt8]) -> Passage) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(from, &buffer, buffer.count), count > 0 {
      let passage = passage(Array(buffer[..<count]))
      if passage == .nowhere { break }
      guard send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count, passage == .on else { break }
    }
    // Both threads may do so; the descriptors stay until the process ends, as nobody knows who is last.
    shutdown(from, Int32(SHUT_RDWR))
    shutdown(to, Int32(SHUT_RDWR))
  }

  private static func hasCommit(_ bytes: [UInt8]) -> Bool {
    String(decoding: bytes, as: UTF8.self).contains("COMMIT\0")
  }

  /// A value that several threads use.
  private final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
    func withLock<Output: Sendable>(_ body: (inout Value) -> Output) -> Output {
      value.withLock { value in body(&value) }
    }
  }
}

/// Returns a value and leaves none.
private func take<Value>(_ value: inout Value?) -> Value? {
  defer { value = nil }
  return value
}
