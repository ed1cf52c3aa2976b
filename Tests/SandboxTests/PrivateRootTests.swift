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
    let cell = try Cell()
    let calls = [
      cell.secret, cell.output.appending("../outside/secret"), "/etc/passwd", "/root", "/home",
      "/bin/sh", "/proc/self/root/etc/passwd",
    ].map { Self.look($0) }
    var policy = cell.policy()
    #expect(try cell.errors(policy, calls) == calls.map { _ in ENOENT })
    policy.hidesOthers = false
    let seen = try cell.errors(policy, calls)
    #expect(seen.prefix(3) == [0, 0, 0])
  }

  @Test("Without Landlock nothing else can be opened, and what may be read can't be written")
  func withoutLandlock() throws {
    let cell = try Cell()
    let new = Self.open("/usr/share/pipeline-new", O_CREAT | O_WRONLY)
    let calls = [
      Self.open(cell.secret), Self.open("/etc/passwd"), Self.open(cell.original, O_WRONLY),
      Self.open(cell.folder.appending("in/new"), O_CREAT | O_WRONLY), new,
      Self.open("/new", O_CREAT | O_WRONLY),
    ]
    var policy = cell.policy(.none)
    policy.hidesOthers = true
    #expect(try cell.errors(policy, calls) == [ENOENT, ENOENT, EROFS, EROFS, EROFS, EROFS])
    #expect(access("/usr/share/pipeline-new", F_OK) != 0)
  }

  @Test("Paths lead through links as they did, also where a link is absolute or above the folder")
  func links() throws {
    let cell = try Cell()
    let folder = cell.folder.path
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
    #expect(try cell.errors(policy, calls + [Self.open("/lib", O_DIRECTORY)]) == [0, 0, 0, 0, 0])
  }

  @Test("Links beside a library that is allowed alone are there, as programs know it by them")
  func libraryLinks() throws {
    let cell = try Cell()
    let folder = cell.folder.appending("outside")
    try Descriptor.openFolder(folder).writeDurably([], as: "libx.so.1.2")
    try #require(symlink("libx.so.1.2", folder.appending("libx.so.1").description) == 0)
    let policy = SandboxPolicy(read: [folder.appending("libx.so.1.2")])
    let calls = [Self.open(folder.appending("libx.so.1")), Self.look(cell.secret)]
    #expect(try cell.errors(policy, calls) == [0, ENOENT])
  }

  @Test("Where everything may be read nothing is hidden")
  func everything() throws {
    let cell = try Cell()
    let calls = [Self.open("/etc/passwd"), Self.open(cell.secret), Self.open("/bin/sh")]
    #expect(try cell.errors(SandboxPolicy(read: ["/"]), calls) == [0, 0, 0])
  }

  @Test("A folder that may be written within one that may be read stays so")
  func nested() throws {
    let cell = try Cell()
    try Descriptor.openFolder(cell.folder.appending("in")).makeFolder("inner")
    let inner = cell.folder.appending("in/inner")
    let policy = SandboxPolicy(read: [cell.folder.appending("in")], write: [inner])
    let calls = [
      Self.open(inner.appending("new"), O_CREAT | O_WRONLY),
      Self.open(cell.original), Self.open(cell.folder.appending("in/new"), O_CREAT | O_WRONLY),
    ]
    let errors = try cell.errors(policy, calls)
    #expect(errors.prefix(2) == [0, 0])
    #expect([EROFS, EACCES].contains(errors[2]))
    #expect(access(inner.appending("new").description, F_OK) == 0)
  }

  @Test("An ordinary user has one, too, and no right that it did not have")
  func ordinaryUser() throws {
    let cell = try Cell()
    let user = 65534
    for path in [cell.folder.path, cell.output] {
      try #require(chmod(path.description, 0o777) == 0)
    }
    let hidden = cell.folder.appending("in/hidden")
    try Descriptor.openFolder(cell.folder.appending("in")).writeDurably([], as: "hidden")
    try #require(chmod(hidden.description, 0) == 0 && chown(hidden.description, 65534, 65534) == 0)
    let becomes = [
      Call("setgroups", .number(0), .number(0)),
      Call("setresgid", .number(user), .number(user), .number(user)),
      Call("setresuid", .number(user), .number(user), .number(user)),
      // What a program has that was started as the user: it is not one that changed.
      Call("prctl", .number(4), .number(1)),
    ]
    let calls = [
      Self.look("/etc/passwd"), Self.open(cell.original),
      Self.open(cell.output.appending("new"), O_CREAT | O_WRONLY), Self.open(hidden),
    ]
    // Who isn't root can't become somebody else, and is an ordinary user already.
    let errors = try cell.errors(cell.policy(), before: geteuid() == 0 ? becomes : [], calls)
    #expect(errors == [ENOENT, 0, 0, EACCES])
  }

  @Test("A program finds itself and its files by the names that it was started by")
  func program() throws {
    let cell = try Cell()
    let script = try cell.script(
      "in/say",
      """
      #!/usr/bin/env python3
      import os, sys
      print(os.path.exists(sys.executable), os.path.exists(__file__), os.path.exists("/etc/passwd"))
      print(len(os.listdir("/proc/self/fd")) > 2, os.getcwd())
      """)
    let link = cell.folder.appending("say-link")
    try #require(symlink(script.description, link.description) == 0)
    let outcome = try cell.execute([link], cell.policy())
    #expect(outcome.output.hasPrefix("True True False\n"), "\(outcome)")
  }
}
