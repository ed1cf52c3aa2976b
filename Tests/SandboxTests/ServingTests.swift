import Fixtures
import Foundation
import Glibc
import PipelineModel
import Sandbox
import Testing

@testable import sandbox_probe

/// What the process that answers HTTP may do: its policy is the one that the server enters.
@Suite("What a server reaches", .timeLimit(.minutes(3)))
struct ServingTests {
  typealias Call = ProbeRequest.Call

  private static func open(_ path: BytePath, _ flags: Int32 = O_RDONLY) -> Call {
    Call("openat", .number(-100), .path(path), .number(Int(flags)), .number(0o600))
  }

  private static let make = Call(
    "socket", .number(Int(AF_UNIX)), .number(Int(SOCK_STREAM.rawValue)), .number(0))

  /// The address of a Unix socket.
  private static func address(_ path: BytePath) -> Call.Argument {
    var bytes = withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + path.bytes
    bytes += Array(repeating: 0, count: 110 - bytes.count)
    return .bytes(Data(bytes))
  }

  private func policy(_ fixture: SandboxFixture, _ kernel: Kernel) -> SandboxPolicy {
    var policy = SandboxPolicy.serving([fixture.folder.appending("in")])
    policy.greatestLandlockABI = kernel.landlockABI
    policy.hidesOthers = kernel == .newest
    return policy
  }

  @Test(
    "It reads its folders, and writes nothing there or elsewhere", arguments: Kernel.withLandlock)
  func files(_ kernel: Kernel) throws {
    let fixture = try SandboxFixture()
    let here = Call.Argument.number(-100)
    let new = fixture.folder.appending("in/new")
    let before = try Appearance(of: fixture.original)
    let errors = try fixture.errors(
      policy(fixture, kernel),
      [
        Self.open(fixture.original), Self.open(fixture.original, O_WRONLY),
        Self.open(fixture.original, O_RDWR), Self.open(fixture.original, O_RDONLY | O_TRUNC),
        Self.open(new, O_CREAT | O_WRONLY), Self.open(fixture.secret),
        Self.open(fixture.output.appending("x"), O_CREAT | O_WRONLY),
        Self.open("/tmp/x", O_CREAT | O_WRONLY),
        Call("unlinkat", here, .path(fixture.original), .number(0)),
        Call("renameat2", here, .path(fixture.original), here, .path(new), .number(0)),
        Call("mkdirat", here, .path(new), .number(0o700)),
        Call("fchmodat", here, .path(fixture.original), .number(0o777)),
      ])
    #expect(errors[0] == 0)
    for (index, error) in errors.enumerated().dropFirst() { #expect(error != 0, "\(index)") }
    #expect(try Appearance(of: fixture.original) == before)
  }

  @Test("It accepts and answers connections, and can make none", arguments: Kernel.allCases)
  func connections(_ kernel: Kernel) throws {
    let fixture = try SandboxFixture()
    let path = fixture.output.appending("s")
    let size = Call.Argument.number(110)
    let zero = Call.Argument.number(0)
    // A listening socket, a connection to it, and one more socket, from before the sandbox.
    let before = [
      Self.make, Call("bind", .result(0), Self.address(path), size),
      Call("listen", .result(0), .number(8)), Self.make,
      Call("connect", .result(3), Self.address(path), size), Self.make,
    ]
    let text = Call.Argument.path("answer")
    let errors = try fixture.errors(
      policy(fixture, kernel), before: before,
      [
        Call("accept4", .result(0), zero, zero, zero),
        Call("sendto", .result(6), text, .number(6), zero, zero, zero),
        Self.make,
        Call("socket", .number(Int(AF_INET)), .number(1), zero),
        Call("socket", .number(Int(AF_INET)), .number(2), zero),
        Call("connect", .result(5), Self.address(path), size),
        Call("bind", .result(5), Self.address(fixture.output.appending("t")), size),
        Call("listen", .result(5), .number(8)),
        Call("sendto", .result(5), text, .number(6), zero, Self.address(path), size),
        // Both would connect a TCP socket: MSG_FASTOPEN.
        Call("sendto", .result(6), text, .number(6), .number(0x2000_0000), zero, zero),
        Call("sendmsg", .result(6), text, .number(0x2000_0000)),
      ])
    #expect(errors[0] == 0 && errors[1] == 0)
    for (index, error) in errors.enumerated().dropFirst(2) { #expect(error == EPERM, "\(index)") }
  }

  @Test("It starts no program, and signals nobody else", arguments: Kernel.allCases)
  func programs(_ kernel: Kernel) throws {
    let fixture = try SandboxFixture()
    let errors = try fixture.errors(
      policy(fixture, kernel),
      [
        Call("execve", .path("/bin/true"), .list(["true"]), .list([])),
        Call("fork"), Call("kill", .number(1), .number(0)),
        Call("ptrace", .number(16), .number(1), .number(0), .number(0)), Call("thread"),
      ])
    #expect(errors == [EPERM, EPERM, EPERM, EPERM, 0])
  }
}
