import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@testable import LibrarySession

/// Messages to systemd, received by a socket as systemd's is.
@Suite("The service manager", .timeLimit(.minutes(1)))
struct ServiceManagerTests {
  @Test("Each message arrives as the protocol says, by a path and by an abstract name")
  func messages() throws {
    let folder = try TemporaryFolder()
    let abstract = "@pipeline-test-\(getpid())"
    for address in [folder.path.appending("notify").description, abstract] {
      let socket = try Listener(address)
      let manager = ServiceManager(environment: ["NOTIFY_SOCKET": address])
      manager.ready()
      #expect(socket.receive() == "READY=1")
      manager.status("2 files in hand\nREADY=0")
      #expect(socket.receive() == "STATUS=2 files in hand READY=0")
      manager.stopping()
      #expect(socket.receive() == "STOPPING=1")
      manager.ping()
      #expect(socket.receive() == "WATCHDOG=1")
      let before = Self.microseconds()
      manager.reloading()
      let lines = try #require(socket.receive()).split(separator: "\n")
      #expect(lines.first == "RELOADING=1" && lines.count == 2)
      let time = try #require(lines.last?.split(separator: "=").last.flatMap { Int64($0) })
      #expect(lines.last?.hasPrefix("MONOTONIC_USEC=") == true)
      #expect((before...Self.microseconds()).contains(time))
    }
  }

  @Test("Nobody listens, or nobody asked: silence, and no delay")
  func silence() throws {
    let folder = try TemporaryFolder()
    let gone = folder.path.appending("gone").description
    let start = ContinuousClock().now
    for environment in [
      [:], ["NOTIFY_SOCKET": ""], ["NOTIFY_SOCKET": "relative"], ["NOTIFY_SOCKET": gone],
      ["NOTIFY_SOCKET": "/" + String(repeating: "a", count: 200)],
    ] {
      let manager = ServiceManager(environment: environment)
      manager.ready()
      manager.ping()
    }
    // Each of them would wait for two seconds for somebody to read.
    #expect(ContinuousClock().now - start < .seconds(5))
  }

  @Test("A manager that does not read costs seconds, not the program")
  func deafManager() throws {
    let folder = try TemporaryFolder()
    let address = folder.path.appending("notify").description
    let socket = try Listener(address)
    let full = try #require(try Self.queueLength())
    let manager = ServiceManager(environment: ["NOTIFY_SOCKET": address])
    for _ in 0...full { manager.ping() }
    let start = ContinuousClock().now
    manager.ping()
    let waited = ContinuousClock().now - start
    #expect(waited > .seconds(1) && waited < .seconds(10))
    #expect(socket.receive() == "WATCHDOG=1")
  }

  @Test("The watchdog is answered twice in its time, if it waits for this process")
  func watchdog() throws {
    func interval(_ members: [String: String]) -> Duration? {
      let socket = ["NOTIFY_SOCKET": "@pipeline-test-watchdog"]
      return ServiceManager(environment: socket.merging(members) { $1 }, process: 42)
        .watchdogInterval
    }
    #expect(interval([:]) == nil)
    #expect(interval(["WATCHDOG_USEC": "30000000"]) == .seconds(15))
    #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"]) == .seconds(15))
    #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "43"]) == nil)
    #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "x"]) == nil)
    for odd in ["", "0", "-5", "soon", "99999999999999999999"] {
      #expect(interval(["WATCHDOG_USEC": odd]) == nil)
    }
    let manager = ServiceManager(environment: ["WATCHDOG_USEC": "30000000"], process: 42)
    #expect(manager.watchdogInterval == nil)
  }

  private static func microseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
  }

  /// How many datagrams a socket of a Unix domain holds unread.
  private static func queueLength() throws -> Int? {
    let bytes = try Descriptor.openFolder("/proc/sys/net/unix").readFile("max_dgram_qlen")
    return Int(String(decoding: bytes, as: UTF8.self).prefix { $0.isNumber })
  }
}

/// A datagram socket that a test reads.
private final class Listener {
  private let number: Int32

  init(_ address: String) throws {
    number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    try #require(number >= 0)
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: Array(address.utf8)) }
    let isAbstract = address.hasPrefix("@")
    if isAbstract { name.sun_path.0 = 0 }
    let length = socklen_t(2 + address.utf8.count + (isAbstract ? 0 : 1))
    let result = withUnsafePointer(to: name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) }
    }
    try #require(result == 0, "bind: \(errno)")
  }

  deinit { close(number) }

  /// The next datagram, or `nil` if none is there.
  func receive() -> String? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
  }
}
