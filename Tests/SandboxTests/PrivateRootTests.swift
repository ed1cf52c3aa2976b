import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Sandbox
import Testing

@testable import sandbox_probe

@Suite(
  "A worker's root folder",
  .enabled(
    if: SandboxSupport.privateRootRefusal == nil, "This machine gives no mount namespaces."),
  .timeLimit(.minutes(3)))
struct PrivateRootTests {
  typealias Call = ProbeRequest.Call

  private static func open(_ path: BytePath, _ flags: Int32 = O_RDONLY) -> Call {
    Call("openat", .number(-100), .path(path), .number(Int(flags)), .number(0o600))
  }
  private static func look(_ path: BytePath) -> Call {
    Call("faccessat", .number(-100), .path(path), .number(Int(F_OK)))
  }

  @Test("What is not allowed can't be examined, and with Landlock alone it can")
  func hidden() throws {
    let fixture = try SandboxFixture()
    let calls = [
      fixture.secret, fixture.output.appending("../outside/secret"), "/etc/passwd", "/root",
      "/home",
      "/bin/sh", "/proc/self/root/etc/passwd",
    ].map { Self.look($0) }
    var policy = fixture.policy()
    #expect(try fixture.errors(policy, calls) == calls.map { _ in ENOENT })
    policy.hidesOthers = false
    let seen = try fixture.errors(policy, calls)
    #expect(seen.prefix(3) == [0, 0, 0])
  }

  @Test("Without Landlock nothing else can be opened, and what may be read can't be written")
  func withoutLandlock() throws {
    let fixture = try SandboxFixture()
    let new = Self.open("/usr/share/pipeline-new", O_CREAT | O_WRONLY)
    let calls = [
      Self.open(fixture.secret), Self.open("/etc/passwd"), Self.open(fixture.original, O_WRONLY),
      Self.open(fixture.folder.appending("in/new"), O_CREAT | O_WRONLY), new,
      Self.open("/new", O_CREAT | O_WRONLY),
    ]
    var policy = fixture.policy(.none)
    policy.hidesOthers = true
    #expect(try fixture.errors(policy, calls) == [ENOENT, ENOENT, EROFS, EROFS, EROFS, EROFS])
    #expect(access("/usr/share/pipeline-new", F_OK) != 0)
  }

  @Test("Paths lead through links as they did, also where a link is absolute or above the folder")
  func links() throws {
    let fixture = try SandboxFixture()
    let folder = fixture.folder.path
    for (name, target) in [
      ("near", "in"), ("far", "\(folder)/near"), ("round", "out/../far"),
    ] {
      try #require(symlink(target, folder.appending(name).description) == 0)
    }
    var policy = SandboxPolicy(
      read: [folder.appending("round")], write: [folder.appending("out")])
    policy.read.append("/dev/null")
    let calls = ["round", "far", "near", "in"].map {
      Self.open(folder.appending($0).appending("original"))
    }
    #expect(
      try fixture.errors(policy, calls + [Self.open("/lib", O_DIRECTORY)]) == [0, 0, 0, 0, 0])
  }

  @Test("Links beside a library that is allowed alone are there, as programs know it by them")
  func libraryLinks() throws {
    let fixture = try SandboxFixture()
    let folder = fixture.folder.appending("outside")
    try Descriptor.openFolder(folder).writeDurably([], as: "libx.so.1.2")
    try #require(symlink("libx.so.1.2", folder.appending("libx.so.1").description) == 0)
    let policy = SandboxPolicy(read: [folder.appending("libx.so.1.2")])
    let calls = [Self.open(folder.appending("libx.so.1")), Self.look(fixture.secret)]
    #expect(try fixture.errors(policy, calls) == [0, ENOENT])
  }

  @Test("Where everything may be read nothing is hidden")
  func everything() throws {
    let fixture = try SandboxFixture()
    let calls = [Self.open("/etc/passwd"), Self.open(fixture.secret), Self.open("/bin/sh")]
    #expect(try fixture.errors(SandboxPolicy(read: ["/"]), calls) == [0, 0, 0])
  }

  @Test("A folder that may be written within one that may be read stays so")
  func nested() throws {
    let fixture = try SandboxFixture()
    try Descriptor.openFolder(fixture.folder.appending("in")).makeFolder("inner")
    let inner = fixture.folder.appending("in/inner")
    let policy = SandboxPolicy(read: [fixture.folder.appending("in")], write: [inner])
    let calls = [
      Self.open(inner.appending("new"), O_CREAT | O_WRONLY),
      Self.open(fixture.original),
      Self.open(fixture.folder.appending("in/new"), O_CREAT | O_WRONLY),
    ]
    let errors = try fixture.errors(policy, calls)
    #expect(errors.prefix(2) == [0, 0])
    #expect([EROFS, EACCES].contains(errors[2]))
    #expect(access(inner.appending("new").description, F_OK) == 0)
  }

  @Test("An ordinary user has one, too, and no right that it did not have")
  func ordinaryUser() throws {
    let fixture = try SandboxFixture()
    let user = 65534
    for path in [fixture.folder.path, fixture.output] {
      try #require(chmod(path.description, 0o777) == 0)
    }
    let hidden = fixture.folder.appending("in/hidden")
    try Descriptor.openFolder(fixture.folder.appending("in")).writeDurably([], as: "hidden")
    try #require(chmod(hidden.description, 0) == 0 && chown(hidden.description, 65534, 65534) == 0)
    let becomes = [
      Call("setgroups", .number(0), .number(0)),
      Call("setresgid", .number(user), .number(user), .number(user)),
      Call("setresuid", .number(user), .number(user), .number(user)),
      // What a program has that was started as the user: it is not one that changed.
      Call("prctl", .number(4), .number(1)),
    ]
    let calls = [
      Self.look("/etc/passwd"), Self.open(fixture.original),
      Self.open(fixture.output.appending("new"), O_CREAT | O_WRONLY), Self.open(hidden),
    ]
    // Who isn't root can't become somebody else, and is an ordinary user already.
    let errors = try fixture.errors(fixture.policy(), before: geteuid() == 0 ? becomes : [], calls)
    #expect(errors == [ENOENT, 0, 0, EACCES])
  }

  @Test("A program finds itself and its files by the names that it was started by")
  func program() throws {
    let fixture = try SandboxFixture()
    let script = try fixture.script(
      "in/say",
      """
      #!/usr/bin/env python3
      import os, sys
      print(os.path.exists(sys.executable), os.path.exists(__file__), os.path.exists("/etc/passwd"))
      print(len(os.listdir("/proc/self/fd")) > 2, os.getcwd())
      """)
    let link = fixture.folder.appending("say-link")
    try #require(symlink(script.description, link.description) == 0)
    let outcome = try fixture.execute([link], fixture.policy())
    #expect(outcome.output.hasPrefix("True True False\n"), "\(outcome)")
  }
}
