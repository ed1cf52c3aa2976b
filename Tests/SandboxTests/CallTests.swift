import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Sandbox
import Testing

@testable import sandbox_probe

@Suite("What a worker can ask of the kernel", .timeLimit(.minutes(3)))
struct CallTests {
  typealias Call = ProbeRequest.Call

  /// A server on this machine that nobody accepts from: connecting works all the same.
  private struct Server: ~Copyable {
    let descriptor: Int32
    let address: Data

    init() throws {
      let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      descriptor = socket
      var place = sockaddr_in()
      place.sin_family = sa_family_t(AF_INET)
      place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let code = withUnsafeMutablePointer(to: &place) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(socket, $0, size) | listen(socket, 5) | getsockname(socket, $0, &size)
        }
      }
      guard code == 0 else { throw POSIXError(.EADDRINUSE) }
      address = withUnsafeBytes(of: place) { Data($0) }
    }

    deinit { close(descriptor) }
  }

  private static func connecting(_ address: Data, to socket: Int) -> Call {
    Call("connect", .result(socket), .bytes(address), .number(address.count))
  }

  private static let socket = Call("socket", .number(2), .number(1), .number(0))

  @Test(
    "No connection can be made, not even by a socket that was there", arguments: Kernel.allCases)
  func network(_ kernel: Kernel) throws {
    let server = try Server()
    let fixture = try SandboxFixture()
    let calls = [
      Self.connecting(server.address, to: 0), Self.socket,
      Call("socket", .number(1), .number(1), .number(0)),
      Call("socket", .number(16), .number(3), .number(0)),
      Call("bind", .result(0), .bytes(server.address), .number(16)),
      Call("listen", .result(0), .number(1)),
      Call("sendto", .result(0), .path("x"), .number(1), .number(0), .number(0), .number(0)),
      Call("socketpair", .number(1), .number(2), .number(0), .bytes(Data(count: 8))),
    ]
    let errors = try fixture.errors(fixture.policy(kernel), before: [Self.socket], calls)
    #expect(errors.dropLast() == [EPERM, EPERM, EPERM, EPERM, EPERM, EPERM, EPERM])
    // Pairs of datagram sockets would take any address; they are as good as not there.
    #expect(errors.last == ENOSYS)
    let free = try fixture.errors(nil, before: [Self.socket], [calls[0], calls[1]])
    #expect(free == [0, 0])
  }

  @Test("With the network allowed it can, but not to Unix sockets", arguments: Kernel.allCases)
  func networkAllowed(_ kernel: Kernel) throws {
    let server = try Server()
    let fixture = try SandboxFixture()
    var policy = fixture.policy(kernel)
    policy.network = true
    let calls = [
      Self.socket, Self.connecting(server.address, to: 0),
      Call("socket", .number(1), .number(1), .number(0)), Call("fork"),
    ]
    #expect(try fixture.errors(policy, calls) == [0, 0, EPERM, EPERM])
  }

  @Test("A pair of sockets is a pipe, and allowed")
  func pairs() throws {
    let fixture = try SandboxFixture()
    let pair = Call("socketpair", .number(1), .number(1), .number(0), .bytes(Data(count: 8)))
    #expect(try fixture.errors(fixture.policy(), [pair]) == [0])
  }

  @Test("Nothing can be kept in pipes and sockets beyond what they hold at first")
  func kernelMemory() throws {
    let fixture = try SandboxFixture()
    let socket = Call("socket", .number(2), .number(1), .number(0))
    let size = Call.Argument.bytes(Data([0, 0, 16, 0]))
    func option(_ number: Int, level: Int = 1) -> Call {
      Call("setsockopt", .result(0), .number(level), .number(number), size, .number(4))
    }
    let calls = [
      // What the kernel does not look at of an `int` must not hide the level.
      option(Int(SO_SNDBUF)), option(Int(SO_RCVBUF)), option(Int(SO_SNDBUFFORCE)),
      option(Int(SO_RCVBUFFORCE)), option(Int(SO_SNDBUF), level: 1 << 32 | 1),
      Call("vmsplice", .result(1), .number(0), .number(0), .number(0)),
      Call("fcntl", .result(1), .number(1031), .number(1 << 20)),
    ]
    let before = [socket, Call("pipe2", .bytes(Data(count: 8)), .number(0))]
    for network in [false, true] {
      var policy = fixture.policy()
      policy.network = network
      #expect(
        try fixture.errors(policy, before: before, calls)
          == Array(repeating: EPERM, count: calls.count))
      #expect(try fixture.errors(policy, before: before, [option(Int(SO_KEEPALIVE))]) == [0])
    }
    let noDelay = option(1, level: 6)
    #expect(try fixture.errors(fixture.policy(), before: before, [noDelay]) == [ENOSYS])
  }

  @Test("No other program or process is started", arguments: Kernel.allCases)
  func processes(_ kernel: Kernel) throws {
    let fixture = try SandboxFixture()
    let list = Call.Argument.list(["true"])
    var calls = [
      Call("execve", .path("/bin/true"), list, list),
      Call("execveat", .number(-100), .path("/bin/true"), list, list, .number(0)),
      Call("clone", .number(Int(SIGCHLD))),
      Call("clone", .number(Int(SIGCHLD) | 0x1000_0000)),
      Call("clone3", .bytes(Data(count: 88)), .number(88)),
    ]
    #if arch(x86_64)
      calls += [Call("fork"), Call("vfork")]
    #endif
    let errors = try fixture.errors(fixture.policy(kernel), calls)
    // The C library makes threads by the older call if this one is not there.
    #expect(errors[4] == ENOSYS)
    #expect(Set(errors[..<4] + errors[5...]) == [EPERM])
  }

  @Test("With processes allowed it forks, but starts no program", arguments: Kernel.allCases)
  func forks(_ kernel: Kernel) throws {
    let fixture = try SandboxFixture()
    var policy = fixture.policy(kernel)
    policy.processes = true
    let list = Call.Argument.list(["true"])
    let calls = [
      Call("clone", .number(Int(SIGCHLD))),
      Call("clone", .number(Int(SIGCHLD) | 0x1000_0000)),  // in a new user namespace
      Call("clone", .number(Int(SIGCHLD) | 0x8000)),  // as a child of the program
      Call("execve", .path("/bin/true"), list, list),
      Call("setsid"), Call("setpgid", .number(0), .number(0)),
    ]
    #expect(try fixture.errors(policy, calls) == [0, EPERM, EPERM, EPERM, EPERM, EPERM])
  }

  @Test("No signal leaves it, whatever way it is sent", arguments: Kernel.allCases)
  func signals(_ kernel: Kernel) throws {
    let fixture = try SandboxFixture()
    let me = Call.Argument.number(Int(getpid()))
    let none = Call.Argument.number(0)
    let pipe = Call("eventfd2", .number(0), .number(0))
    let calls = [
      Call("kill", me, none), Call("kill", .number(-1), none), Call("kill", none, none),
      Call("tgkill", me, me, none), Call("tkill", me, none),
      Call("rt_sigqueueinfo", me, none, .bytes(Data(count: 128))),
      Call("pidfd_send_signal", .result(0), none, none, none),
      Call("fcntl", .result(0), .number(8), me),
      Call("fcntl", .result(0), .number(10), .number(9)),
      Call("prctl", .number(1), none), Call("prctl", .number(4), .number(1)),
      Call("prlimit64", me, .number(7), none, .bytes(Data(count: 16))),
      Call("prlimit64", none, .number(7), .bytes(Data(count: 16)), none),
      Call("setrlimit", .number(7), .bytes(Data(count: 16))),
      Call("sched_setaffinity", me, .number(8), .bytes(Data(count: 8))),
      Call("setpriority", none, none, none),
    ]
    let errors = try fixture.errors(fixture.policy(kernel), before: [pipe], calls)
    for (call, error) in zip(calls, errors) { #expect(error == EPERM, "\(call): \(error)") }
    #expect(
      try fixture.errors(
        fixture.policy(kernel),
        [Call("prlimit64", none, .number(7), none, .bytes(Data(count: 16)))]) == [0])
  }

  @Test(
    "A newer kernel keeps signals within, so what was started can be ended",
    .enabled(if: SandboxSupport.probe().landlockABI >= 6, "Needs Landlock of version 6."))
  func scoped() throws {
    let fixture = try SandboxFixture()
    var policy = fixture.policy()
    policy.processes = true
    let me = Call.Argument.number(Int(getpid()))
    let calls = [
      Call("clone", .number(Int(SIGCHLD))), Call("kill", .result(0), .number(0)),
      Call("kill", me, .number(0)),
    ]
    #expect(try fixture.errors(policy, calls) == [0, 0, EPERM])
    policy.greatestLandlockABI = 5
    #expect(try fixture.errors(policy, calls) == [0, EPERM, EPERM])
  }

  @Test("Space is taken by writing alone", arguments: Kernel.allCases)
  func reservedSpace(_ kernel: Kernel) throws {
    let fixture = try SandboxFixture()
    let file = fixture.output.appending("file")
    let calls =
      [
        Call(
          "openat", .number(-100), .path(file), .number(Int(O_CREAT | O_RDWR)), .number(0o600))
      ]
      + [0, 1].map { mode in
        Call("fallocate", .result(0), .number(mode), .number(0), .number(1 << 20))
      }
    #expect(try fixture.errors(fixture.policy(kernel), calls) == [0, EOPNOTSUPP, EOPNOTSUPP])
    #expect(try FileSystem.status(of: file).allocatedBytes == 0)
  }

  @Test("A thread can't have open files of its own, which nobody would count")
  func ownTable() throws {
    let fixture = try SandboxFixture()
    let calls = [2, 6, 4].map { flags in
      Call("close_range", .number(900), .number(900), .number(flags))
    }
    #expect(try fixture.errors(fixture.policy(), calls) == [EPERM, EPERM, 0])
  }

  @Test("The system and other processes are out of reach", arguments: Kernel.allCases)
  func system(_ kernel: Kernel) throws {
    let fixture = try SandboxFixture()
    let none = Call.Argument.number(0)
    let me = Call.Argument.number(Int(getpid()))
    let names = [
      "ptrace", "mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "keyctl",
      "add_key", "request_key", "bpf", "perf_event_open", "setuid", "setgid", "setgroups",
      "capset", "process_vm_readv", "process_vm_writev", "open_by_handle_at", "userfaultfd",
      "init_module", "reboot", "swapon", "sethostname", "settimeofday", "clock_settime",
      "ioprio_set", "fanotify_init", "pidfd_getfd",
    ]
    let calls =
      names.map { Call($0, none, none, none, none) }
      + [Call("ptrace", .number(16), me, none, none), Call("unshare", .number(0x1000_0000))]
    let errors = try fixture.errors(fixture.policy(kernel), calls)
    for (call, error) in zip(calls, errors) { #expect(error == EPERM, "\(call): \(error)") }
    // What is on no list does not exist.
    let unknown = ["io_uring_setup", "memfd_create", "shmget", "openat2", "seccomp"].map {
      Call($0, none, none, none, none)
    }
    let missing = try fixture.errors(fixture.policy(kernel), unknown)
    #expect(missing == unknown.map { _ in ENOSYS })
  }
}
