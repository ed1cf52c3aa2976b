import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

@testable import Sandbox
@testable import sandbox_probe

@Suite("A program that is started in the sandbox", .timeLimit(.minutes(3)))
struct ExecuteTests {
  /// Says what a Python program can't do, a line each.
  private static let attempts = """
    import os, socket, sys, threading
    def attempt(name, call, *arguments):
      try:
        call(*arguments)
        print(name, 0)
      except OSError as error:
        print(name, error.errno)
    print(sys.argv[1:])
    attempt("execve", os.execv, "/bin/true", ["true"])
    attempt("execveat", os.execve, os.open(sys.argv[0], os.O_RDONLY), ["true"], {})
    attempt("fork", os.fork)
    attempt("socket", socket.socket)
    attempt("secret", open, sys.argv[1])
    attempt("list", os.listdir, "/")
    attempt("thread", threading.Thread(target=print).start)
    attempt("out", open, sys.argv[2] + "/result", "w")
    attempt("own", open, sys.argv[0])
    """

  @Test(
    "A script is found by its first line, and starts no other program",
    arguments: ["#!/usr/bin/env python3", "#!/usr/bin/python3 -B"], Kernel.withLandlock)
  func script(_ line: String, _ kernel: Kernel) throws {
    let fixture = try SandboxFixture()
    let script = try fixture.script("attempt.py", line + "\n" + Self.attempts)
    let outcome = try fixture.execute(
      [script, fixture.secret, fixture.output], fixture.policy(kernel))
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let lines = outcome.output.split(separator: "\n").map(String.init)
    let expected = [
      "['\(fixture.secret)', '\(fixture.output)']", "execve \(EPERM)",
      "execveat \(EPERM)", "fork \(EPERM)",
      "socket \(EPERM)", "secret \(kernel.hidesOthers ? ENOENT : EACCES)", "list \(EACCES)",
      "thread 0", "out 0", "own 0",
    ]
    #expect(lines == expected)
  }

  @Test("Without Landlock no other program is started either")
  func withoutLandlock() throws {
    let fixture = try SandboxFixture()
    let outcome = try fixture.execute(
      ["sh", "-c", "exec /bin/true"], fixture.policy(.none))
    #expect(outcome.exitCode == 126)
    #expect(outcome.errors.contains("Operation not permitted"))
    #expect(try fixture.execute(["true"], fixture.policy(.none)).exitCode == 0)
  }

  @Test("With programs allowed, a shell can start those of the system", arguments: Kernel.allCases)
  func programs(_ kernel: Kernel) throws {
    let fixture = try SandboxFixture()
    var policy = fixture.policy(kernel)
    policy.exec = true
    let words: [BytePath] = [
      "sh", "-c", "cat \"$0\" | tr a-z A-Z; sleep 0 & wait", fixture.original,
    ]
    let outcome = try fixture.execute(words, policy)
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    #expect(outcome.output == "BYTES THAT STAY")
    let mine = try fixture.script("mine.sh", "#!/bin/sh\necho mine\n")
    let refused = try fixture.execute(["sh", "-c", mine], policy)
    // A shell's codes for what isn't there, and for what can't be started.
    #expect(refused.exitCode == (kernel.hidesOthers ? 127 : kernel == .none ? 0 : 126))
    policy.execute = [mine]
    #expect(try fixture.execute(["sh", "-c", mine], policy).output == "mine\n")
  }

  @Test("It gets nothing but the environment it is given, and descriptors 0 to 2")
  func surroundings() throws {
    let fixture = try SandboxFixture()
    let script = try fixture.script(
      "look.py",
      """
      #!/usr/bin/env python3
      import os, signal
      def isOpen(number):
        try:
          os.fstat(number)
          return True
        except OSError:
          return False
      print(sorted(os.environ))
      print([n for n in range(256) if isOpen(n)])
      print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
      """)
    var request = ProbeRequest(policy: fixture.policy())
    request.before = [
      .init("openat", .number(-100), .path(fixture.secret), .number(0)),
      .init("dup", .result(0)),
    ]
    request.program = [script]
    let outcome = try fixture.start(request)
    #expect(outcome.output == "['LANG', 'PATH']\n[0, 1, 2]\nset()\n", "\(outcome.errors)")
  }

  @Test("What can't be started is named, with the reason")
  func refusals() throws {
    let fixture = try SandboxFixture()
    let noLine = try fixture.script("plain", "print(1)\n")
    let noInterpreter = try fixture.script("odd", "#!/usr/bin/env no-such-program\n")
    let noPath = try fixture.script("odder", "#!/no/such/program\n")
    let endless = try fixture.script("endless", "#!\(fixture.folder.appending("endless"))\n")
    let notExecutable = try fixture.script("file", "#!/bin/sh\n")
    try #require(chmod(notExecutable.description, 0o644) == 0)
    let cases: [(BytePath, String)] = [
      ("no-such-program", "is not in any of /usr/local/bin, /usr/bin, /bin"),
      (fixture.folder.appending("nothing"), "No such file"),
      (fixture.output, "it is not a file"), (noLine, "first line must name an interpreter"),
      (noInterpreter, "“no-such-program”, which “\(noInterpreter)” names"),
      (noPath, "“/no/such/program”, which “\(noPath)” names"),
      (endless, "too many nested interpreters"), (notExecutable, "chmod +x"),
    ]
    for (program, reason) in cases {
      let outcome = try fixture.execute([program], fixture.policy())
      #expect(outcome.exitCode == 3)
      #expect(outcome.output.contains(reason), "\(outcome.output)")
      #expect(outcome.output.contains(program.description))
    }
  }

  /// A folder with an interpreter in `bin` that is a link to the system's, and files beside it.
  private func tool(_ fixture: SandboxFixture, files: [BytePath]) throws -> BytePath {
    let home = fixture.folder.appending("tool")
    let manager = FileManager.default
    for name in [BytePath("bin/sh")] + files {
      try manager.createDirectory(
        atPath: home.appending(name.parent).description, withIntermediateDirectories: true)
    }
    try manager.createSymbolicLink(
      atPath: home.appending("bin/sh").description, withDestinationPath: "/bin/sh")
    for name in files {
      try Data("own\n".utf8).write(to: URL(fileURLWithPath: home.appending(name).description))
    }
    return home
  }

  @Test("Of an interpreter's installation its own modules can be read, and no more")
  func installation() throws {
    let fixture = try SandboxFixture()
    let own: [BytePath] = ["pyvenv.cfg", "lib/shell/module", "lib/libtool.so.1"]
    let others: [BytePath] = ["file", "lib/file", "lib/other/file", "bin/file", "pictures/file"]
    let home = try tool(fixture, files: own + others)
    for link: BytePath in ["lib/shlink", "lib/liblink.so"] {
      try FileManager.default.createSymbolicLink(
        atPath: home.appending(link).description,
        withDestinationPath: fixture.secret.parent.description)
    }
    let script = try fixture.script(
      "script",
      "#!\(home)/bin/sh\nfor f; do line=; read line < $f; [ \"$line\" ] && echo own; done 2>&-")
    let led: [BytePath] = ["lib/shlink/secret", "lib/liblink.so/secret"]
    for (files, output) in [(own, "own\nown\nown\n"), (others, ""), (led, "")] {
      let outcome = try fixture.execute(
        [script] + files.map { home.appending($0) }, fixture.policy())
      #expect(outcome.output == output, "\(outcome)")
    }
  }

  @Test("An interpreter whose modules hold a secret is refused, with both paths")
  func secretAmongModules() throws {
    let fixture = try SandboxFixture()
    let home = try tool(fixture, files: ["lib/shell/library/catalog"])
    let script = try fixture.script("script", "#!\(home)/bin/sh\n")
    var policy = fixture.policy()
    #expect(try fixture.execute([script], policy).exitCode == 0)
    policy.secrets = [home.appending("lib/shell/library")]
    let outcome = try fixture.execute([script], policy)
    #expect(outcome.exitCode == 3)
    #expect(outcome.output.contains("“\(home)/lib/shell”, which also holds"), "\(outcome.output)")
    #expect(outcome.output.contains("\(home)/lib/shell/library"))
  }

  @Test("A secret where every plugin may read is refused")
  func secretOfTheSystem() throws {
    let fixture = try SandboxFixture()
    var policy = fixture.policy()
    policy.personal = ["/usr/share/pictures"]
    #expect(try fixture.execute(["true"], policy).exitCode == 0)
    policy.secrets = ["/usr/share/pictures"]
    let outcome = try fixture.execute(["true"], policy)
    #expect(outcome.exitCode == 3)
    #expect(outcome.output.contains("“/usr/share/pictures” is in “/usr/share”"))
  }

  @Test("A program or an interpreter that others may replace is not started")
  func replaceable() throws {
    let fixture = try SandboxFixture()
    let home = try tool(fixture, files: ["lib/shell/module"])
    let script = try fixture.script("script", "#!\(home)/bin/sh\necho started\n")
    #expect(try fixture.execute([script], fixture.policy()).output == "started\n")
    // The script itself, the folder of its interpreter, one above that, and a module.
    for path in [script, home.appending("bin"), home, home.appending("lib/shell")] {
      try #require(chmod(path.description, 0o777) == 0)
      let outcome = try fixture.execute([script], fixture.policy())
      #expect(outcome.exitCode == 3, "\(path)")
      #expect(outcome.output.contains("“\(path)” may be written by others"), "\(outcome.output)")
      try #require(chmod(path.description, 0o755) == 0)
    }
    #expect(try fixture.execute([script], fixture.policy()).output == "started\n")
  }

  @Test("What was looked at is what is started, whatever gets its name meanwhile")
  func exchanged() throws {
    let fixture = try SandboxFixture()
    let program = fixture.folder.appending("program")
    try FileManager.default.copyItem(atPath: "/bin/echo", toPath: program.description)
    let started = try StartedProgram(finding: program, arguments: ["looked at"])
    try #require(rename(try fixture.script("other", "#!/bin/sh\n").description, "\(program)") == 0)
    #expect(try started.file.openedForReading().readToEnd(limit: 1 << 20).count > 10_000)
    #expect(
      try started.file.status().isSameNode(as: started.execute[0].status())
        && !started.file.status().isSameNode(as: FileSystem.status(of: program)))
  }
}
