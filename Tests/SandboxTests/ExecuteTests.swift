import Fixtures
import Foundation
import Glibc
import PipelineModel
import Sandbox
import Testing

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
    let cell = try Cell()
    let script = try cell.script("attempt.py", line + "\n" + Self.attempts)
    let outcome = try cell.execute([script, cell.secret, cell.output], cell.policy(kernel))
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let lines = outcome.output.split(separator: "\n").map(String.init)
    let expected = [
      "['\(cell.secret)', '\(cell.output)']", "execve \(EPERM)", "fork \(EPERM)",
      "socket \(EPERM)", "secret \(EACCES)", "list \(EACCES)", "thread 0", "out 0", "own 0",
    ]
    #expect(lines == expected)
  }

  @Test("Without Landlock no other program is started either")
  func withoutLandlock() throws {
    let cell = try Cell()
    let outcome = try cell.execute(
      ["sh", "-c", "exec /bin/true"], cell.policy(.none))
    #expect(outcome.exitCode == 126)
    #expect(outcome.errors.contains("Operation not permitted"))
    #expect(try cell.execute(["true"], cell.policy(.none)).exitCode == 0)
  }

  @Test("With programs allowed, a shell can start those of the system", arguments: Kernel.allCases)
  func programs(_ kernel: Kernel) throws {
    let cell = try Cell()
    var policy = cell.policy(kernel)
    policy.exec = true
    let words: [BytePath] = [
      "sh", "-c", "cat \"$0\" | tr a-z A-Z; sleep 0 & wait", cell.original,
    ]
    let outcome = try cell.execute(words, policy)
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    #expect(outcome.output == "BYTES THAT STAY")
    let mine = try cell.script("mine.sh", "#!/bin/sh\necho mine\n")
    let refused = try cell.execute(["sh", "-c", mine], policy)
    #expect(refused.exitCode == (kernel == .none ? 0 : 126))
    policy.execute = [mine]
    #expect(try cell.execute(["sh", "-c", mine], policy).output == "mine\n")
  }

  @Test("It gets nothing but the environment it is given, and descriptors 0 to 2")
  func surroundings() throws {
    let cell = try Cell()
    let script = try cell.script(
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
    var request = ProbeRequest(policy: cell.policy())
    request.before = [
      .init("openat", .number(-100), .path(cell.secret), .number(0)),
      .init("dup", .result(0)),
    ]
    request.program = [script]
    let outcome = try cell.start(request)
    #expect(outcome.output == "['LANG', 'PATH']\n[0, 1, 2]\nset()\n", "\(outcome.errors)")
  }

  @Test("What can't be started is named, with the reason")
  func refusals() throws {
    let cell = try Cell()
    let noLine = try cell.script("plain", "print(1)\n")
    let noInterpreter = try cell.script("odd", "#!/usr/bin/env no-such-program\n")
    let noPath = try cell.script("odder", "#!/no/such/program\n")
    let endless = try cell.script("endless", "#!\(cell.folder.appending("endless"))\n")
    let notExecutable = try cell.script("file", "#!/bin/sh\n")
    try #require(chmod(notExecutable.description, 0o644) == 0)
    let cases: [(BytePath, String)] = [
      ("no-such-program", "is not in any of /usr/local/bin, /usr/bin, /bin"),
      (cell.folder.appending("nothing"), "No such file"),
      (cell.output, "it is not a file"), (noLine, "first line has to name an interpreter"),
      (noInterpreter, "“no-such-program”, which “\(noInterpreter)” names"),
      (noPath, "“/no/such/program”, which “\(noPath)” names"),
      (endless, "without end"), (notExecutable, "chmod +x"),
    ]
    for (program, reason) in cases {
      let outcome = try cell.execute([program], cell.policy())
      #expect(outcome.exitCode == 3)
      #expect(outcome.output.contains(reason), "\(outcome.output)")
      #expect(outcome.output.contains(program.description))
    }
  }

  @Test("An interpreter with an installation of its own can read that, and no more")
  func installation() throws {
    let cell = try Cell()
    // A link, as in an environment of Python: what it leads to is the system's.
    let manager = FileManager.default
    for name: BytePath in ["tool/bin", "tool/lib", "tool2/bin"] {
      try manager.createDirectory(
        atPath: cell.folder.appending(name).description, withIntermediateDirectories: true)
    }
    for name: BytePath in ["tool", "tool2"] {
      try manager.createSymbolicLink(
        atPath: cell.folder.appending(name).appending("bin/sh").description,
        withDestinationPath: "/bin/sh")
      try Data("own".utf8).write(
        to: URL(fileURLWithPath: cell.folder.appending(name).appending("file").description))
    }
    let text = "read line < \"$1\"; echo \"$line\"; read line < \"$2\""
    for (tool, isRead) in [("tool", true), ("tool2", false)] {
      let home = cell.folder.appending(BytePath(tool))
      let script = try cell.script(BytePath("script-" + tool), "#!\(home)/bin/sh\n\(text)")
      let outcome = try cell.execute(
        [script, home.appending("file"), cell.secret], cell.policy())
      #expect(outcome.output.contains("own") == isRead, "\(outcome)")
      #expect(outcome.exitCode != 0)
    }
  }
}
