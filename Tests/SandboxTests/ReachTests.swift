import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Sandbox
import Testing

@testable import sandbox_probe

@Suite("What a worker reaches of the file system", .timeLimit(.minutes(3)))
struct ReachTests {
  typealias Call = ProbeRequest.Call

  private static func open(_ path: BytePath, _ flags: Int32 = O_RDONLY) -> Call {
    Call("openat", .number(-100), .path(path), .number(Int(flags)), .number(0o600))
  }

  @Test("Its folders are its own, and a thread can be made", arguments: Kernel.allCases)
  func allowed(_ kernel: Kernel) throws {
    let fixture = try SandboxFixture()
    let here = Call.Argument.number(-100)
    let file = fixture.output.appending("file")
    let folder = fixture.output.appending("folder")
    // Before its second version Landlock could not allow to move between folders.
    let calls = [
      Self.open(fixture.original), Self.open(fixture.folder.appending("in"), O_DIRECTORY),
      Self.open(file, O_CREAT | O_EXCL | O_RDWR), Self.open(file, O_WRONLY | O_TRUNC),
      Call("mkdirat", here, .path(folder), .number(0o700)),
      Call("renameat2", here, .path(file), here, .path(folder.appending("file")), .number(0)),
      Call("ftruncate", .result(2), .number(100)),
      Call("write", .result(2), .path("text"), .number(4)),
      Call("fsync", .result(2)),
      Call("unlinkat", here, .path(folder.appending("file")), .number(0)),
      Call("unlinkat", here, .path(folder), .number(Int(AT_REMOVEDIR))),
      Call("thread"),
      Self.open("/dev/null", O_RDWR), Self.open("/dev/urandom"),
      Self.open("/usr/lib", O_DIRECTORY), Self.open("/usr/share", O_DIRECTORY),
    ]
    let errors = try fixture.errors(fixture.policy(kernel), calls)
    for (call, error) in zip(calls, errors) { #expect(error == 0, "\(call)") }
  }

  @Test(
    "What is outside can be neither read nor made", arguments: Kernel.withLandlock, [true, false])
  func outside(_ kernel: Kernel, hidesOthers: Bool) throws {
    let fixture = try SandboxFixture()
    let here = Call.Argument.number(-100)
    let other = fixture.folder.appending("outside/new")
    let secret = Self.open(fixture.secret)
    let calls = [
      secret, Self.open(fixture.secret, O_WRONLY), Self.open("/etc/passwd"),
      Self.open("/proc/self/environ"), Self.open("/proc/1/environ"),
      Self.open("/", O_DIRECTORY), Self.open(fixture.folder.path, O_DIRECTORY),
      Self.open(fixture.output.appending("../outside/secret")), Self.open("/bin/sh"),
      Self.open(other, O_CREAT | O_WRONLY), Self.open("/dev/shm/x", O_CREAT | O_WRONLY),
      Self.open("/tmp", O_DIRECTORY),
      Call("mkdirat", here, .path(other), .number(0o700)),
      Call("unlinkat", here, .path(fixture.secret), .number(0)),
      Self.open("/proc/self/fd/3"),
    ]
    let before = try Appearance(of: fixture.secret)
    var policy = fixture.policy(kernel)
    policy.hidesOthers = hidesOthers
    let errors = try fixture.errors(policy, before: [secret], calls)
    let refusals = hidesOthers ? [EACCES, ENOTDIR, ENOENT, EROFS] : [EACCES, ENOTDIR]
    for (call, error) in zip(calls, errors) {
      #expect(refusals.contains(error), "\(call): \(error)")
    }
    #expect(try Appearance(of: fixture.secret) == before)
    #expect(access(other.description, F_OK) != 0)
    #expect(try fixture.errors(nil, [secret, Self.open("/etc/passwd")]) == [0, 0])
  }

  @Test("A path of the policy that is missing is an error with its name")
  func missing() throws {
    let fixture = try SandboxFixture()
    for change: @Sendable (inout SandboxPolicy, BytePath) -> Void in [
      { $0.read.append($1) }, { $0.write.append($1) }, { $0.execute.append($1) },
    ] {
      var policy = fixture.policy()
      change(&policy, fixture.folder.appending("nowhere"))
      let outcome = try fixture.start(ProbeRequest(policy: policy))
      #expect(outcome.exitCode == 3)
      #expect(outcome.output.contains("nowhere") && outcome.output.contains("No such file"))
    }
  }

  @Test("A process with another thread is refused, because that would stay free")
  func threads() throws {
    let fixture = try SandboxFixture()
    var request = ProbeRequest(policy: fixture.policy())
    request.startsThread = true
    let outcome = try fixture.start(request)
    #expect(outcome.exitCode == 3)
    #expect(outcome.output.contains("2 threads"))
  }

  @Test("The system's folders are there, and name the runtime of this very program")
  func systemFolders() throws {
    let folders = Sandbox.systemPlaces(SandboxPolicy())
    #expect(folders.contains("/usr/lib"))
    for folder in folders {
      var status = stat()
      #expect(stat(folder.description, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR)
    }
    // What the kernel says; a name may hold spaces, but begins with the first slash.
    let bytes = try Descriptor.open("/proc/self/maps", flags: O_RDONLY).readToEnd()
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    let line = try #require(lines.first { $0.contains("/libswiftCore.so") })
    let start = try #require(line.firstIndex(of: "/"))
    let place = BytePath(String(line[start...])).parent
    #expect(folders.contains { $0 == place || place.relative(to: $0) != nil })
  }

  @Test("Of a folder with libraries that also holds a secret, the libraries alone are there")
  func librariesBesideSecret() throws {
    let fixture = try SandboxFixture()
    let folder = fixture.folder.appending("outside")
    try Descriptor.openFolder(folder).writeDurably([], as: "libx.so.1")
    setenv("LD_LIBRARY_PATH", "\(folder)", 1)
    defer { unsetenv("LD_LIBRARY_PATH") }
    var policy = SandboxPolicy()
    #expect(Sandbox.systemPlaces(policy).contains(folder))
    policy.secrets = [fixture.secret]
    let places = Sandbox.systemPlaces(policy)
    #expect(!places.contains(folder) && places.contains(folder.appending("libx.so.1")))
    #expect(!places.contains(fixture.secret))
  }
}
