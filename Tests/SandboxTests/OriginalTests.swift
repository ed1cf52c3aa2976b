import Fixtures
import Foundation
import Glibc
import PipelineModel
import Sandbox
import Testing

@testable import sandbox_probe

/// What a hostile plugin can try on a file that it is to read.
@Suite("An original in the hands of a hostile worker", .timeLimit(.minutes(3)))
struct OriginalTests {
  typealias Call = ProbeRequest.Call

  /// Opens the original for reading, before the sandbox: the plugin's own descriptor.
  private static func opening(_ fixture: SandboxFixture) -> [Call] {
    [Call("openat", .number(-100), .path(fixture.original), .number(0))]
  }

  /// Calls that Landlock does not cover at all, or not before its third version; with
  /// descriptor 0 being the original, opened for reading. Each works without a sandbox.
  private static func changes(_ fixture: SandboxFixture) -> [Call] {
    let path = Call.Argument.path(fixture.original)
    let here = Call.Argument.number(-100)
    let open = Call.Argument.result(0)
    let name = Call.Argument.path("user.test")
    let value = Call.Argument.bytes(Data("x".utf8))
    let flags = Call.Argument.bytes(Data([0x40, 0, 0, 0, 0, 0, 0, 0]))
    let user = Call.Argument.number(Int(getuid()))
    let group = Call.Argument.number(Int(getgid()))
    var calls = [
      Call("fchmod", open, .number(0o600)),
      Call("fchmodat", here, path, .number(0o640)),
      Call("fchmodat2", here, path, .number(0o600), .number(0), number: 452),
      Call("fchown", open, user, group),
      Call("fchownat", here, path, user, group, .number(0)),
      Call("truncate", path, .number(9)),
      Call("openat", here, path, .number(Int(O_RDONLY | O_TRUNC))),
      Call("openat", here, path, .number(Int(O_ACCMODE | O_TRUNC))),
      Call("setxattr", path, name, value, .number(1), .number(0)),
      Call("fsetxattr", open, name, value, .number(1), .number(0)),
      Call("lsetxattr", path, name, value, .number(1), .number(0)),
      Call("fremovexattr", open, name),
      Call("setxattr", path, name, value, .number(1), .number(0)),
      Call("removexattr", path, name),
      Call("utimensat", here, path, .number(0), .number(0)),
      Call("utimensat", open, .number(0), .number(0), .number(0)),
      Call("linkat", here, path, here, .path(fixture.output.appending("link")), .number(0)),
      Call("symlinkat", path, here, .path(fixture.output.appending("symbolic"))),
      Call(
        "mknodat", here, .path(fixture.output.appending("fifo")), .number(Int(S_IFIFO) | 0o600),
        .number(0)),
      // FS_IOC_SETFLAGS with “not to be dumped”, on a descriptor that only reads.
      Call("ioctl", open, .number(0x4008_6602), flags),
    ]
    #if arch(x86_64)
      calls += [
        Call("chmod", path, .number(0o604)), Call("chown", path, user, group),
        Call("lchown", path, user, group), Call("open", path, .number(Int(O_RDONLY | O_TRUNC))),
        Call("utime", path, .number(0)), Call("utimes", path, .number(0)),
        Call("futimesat", here, path, .number(0)),
        Call("link", path, .path(fixture.output.appending("link2"))),
        Call("symlink", path, .path(fixture.output.appending("symbolic2"))),
      ]
    #endif
    return calls
  }

  @Test("Each of the calls has an effect without a sandbox")
  func control() throws {
    let fixture = try SandboxFixture()
    let calls = Self.changes(fixture)
    let before = try Appearance(of: fixture.original)
    let errors = try fixture.errors(nil, before: Self.opening(fixture), calls)
    for (call, error) in zip(calls, errors) {
      // Two depend on the kernel or the file system, and are worth trying where they work.
      let accepted: Set<Int32> =
        ["fchmodat2": [0, ENOSYS], "ioctl": [0, EOPNOTSUPP, ENOTTY]][call.name] ?? [0]
      #expect(accepted.contains(error), "\(call)")
    }
    #expect(try Appearance(of: fixture.original) != before)
  }

  @Test(
    "No call changes it or its metadata, or makes another name for it", arguments: Kernel.allCases)
  func survives(_ kernel: Kernel) throws {
    let fixture = try SandboxFixture()
    let calls = Self.changes(fixture)
    let before = try Appearance(of: fixture.original)
    let errors = try fixture.errors(fixture.policy(kernel), before: Self.opening(fixture), calls)
    for (call, error) in zip(calls, errors) {
      // A call that is newer than libseccomp is one that does not exist.
      #expect(error == EPERM || (call.number != nil && error == ENOSYS), "\(call): \(error)")
    }
    #expect(try Appearance(of: fixture.original) == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.output.description) == [])
  }

  @Test("It can't be written, moved or removed", arguments: Kernel.withLandlock)
  func landlock(_ kernel: Kernel) throws {
    let fixture = try SandboxFixture()
    let before = try Appearance(of: fixture.original)
    let here = Call.Argument.number(-100)
    let path = Call.Argument.path(fixture.original)
    let other = Call.Argument.path(fixture.output.appending("moved"))
    let mine = Call.Argument.path(fixture.output.appending("mine"))
    let calls = [
      Call("openat", here, path, .number(Int(O_WRONLY))),
      Call("openat", here, path, .number(Int(O_RDWR))),
      Call("openat", here, path, .number(Int(O_WRONLY | O_TRUNC))),
      Call("openat", here, path, .number(Int(O_WRONLY | O_APPEND))),
      Call("openat", here, .path("/proc/self/fd/3"), .number(Int(O_RDWR))),
      Call("unlinkat", here, path, .number(0)),
      Call("renameat2", here, path, here, other, .number(0)),
      Call(
        "openat", here, .path(fixture.folder.appending("in/new")), .number(Int(O_CREAT)),
        .number(0o600)),
      Call("mkdirat", here, .path(fixture.folder.appending("in/folder")), .number(0o700)),
      Call("renameat2", here, mine, here, path, .number(0)),
    ]
    let start = [
      Call("openat", here, mine, .number(Int(O_CREAT | O_WRONLY)), .number(0o600))
    ]
    let errors = try fixture.errors(
      fixture.policy(kernel), before: Self.opening(fixture) + start, calls)
    for (call, error) in zip(calls, errors) {
      #expect([EACCES, EXDEV, EPERM, EROFS].contains(error), "\(call): \(error)")
    }
    #expect(try Appearance(of: fixture.original) == before)
  }

  @Test("Without Landlock it can't be written if its mode forbids it, even as root")
  func capabilities() throws {
    let fixture = try SandboxFixture()
    try #require(chmod(fixture.original.description, 0o444) == 0)
    let before = try Appearance(of: fixture.original)
    let calls = [O_WRONLY, O_RDWR, O_WRONLY | O_TRUNC].map {
      Call("openat", .number(-100), .path(fixture.original), .number(Int($0)))
    }
    #expect(try fixture.errors(fixture.policy(.none), calls) == [EACCES, EACCES, EACCES])
    #expect(try Appearance(of: fixture.original) == before)
    // The program itself is not held back by that: root writes what it likes.
    if geteuid() == 0 { #expect(try fixture.errors(nil, [calls[0]]) == [0]) }
  }
}
