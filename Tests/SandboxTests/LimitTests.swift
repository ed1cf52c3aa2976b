import Fixtures
import Foundation
import Glibc
import PipelineModel
import Sandbox
import Testing

@testable import sandbox_probe

@Suite("The limits of a worker", .timeLimit(.minutes(2)))
struct LimitTests {
  private func run(_ limits: ProcessLimits, _ text: String) throws -> (SandboxFixture, [String]) {
    let fixture = try SandboxFixture()
    let script = try fixture.script("limits.py", "#!/usr/bin/env python3\n" + text)
    var request = ProbeRequest(policy: fixture.policy())
    request.limits = limits
    request.program = [script, fixture.output]
    let outcome = try fixture.start(request)
    #expect(outcome.exitCode == 0, "\(outcome.output)\(outcome.errors)")
    return (fixture, outcome.output.split(separator: "\n").map(String.init))
  }

  @Test("Hold within the sandbox, and can't be raised again")
  func held() throws {
    let limits = ProcessLimits(
      dataBytes: 200 << 20, fileBytes: 1 << 20, openFiles: 40, processorSeconds: 100)
    let (_, lines) = try run(
      limits,
      """
      import os, resource, signal, sys
      for name in ["CORE", "DATA", "FSIZE", "NOFILE", "CPU"]:
        print(*resource.getrlimit(getattr(resource, "RLIMIT_" + name)))
      signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
      def attempt(call):
        try:
          call()
          print(0)
        except MemoryError:
          print("memory")
        except OSError as error:
          print(error.errno)
        except ValueError:
          print("value")
      attempt(lambda: bytearray(300 << 20))
      attempt(lambda: bytearray(100 << 20))
      attempt(lambda: open(sys.argv[1] + "/big", "wb", 0).write(bytes(2 << 20)))
      attempt(lambda: os.pwrite(os.open(sys.argv[1] + "/big", os.O_RDWR), b"x", 1 << 20))
      attempt(lambda: [os.dup(0) for _ in range(50)])
      attempt(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10)))
      """)
    let values = [1, 200 << 20, 1 << 20, 40, 100].map { "\($0) \($0)" }
    #expect(Array(lines.prefix(5)) == values)
    #expect(lines.dropFirst(5).prefix(5) == ["memory", "0", "0", "\(EFBIG)", "\(EMFILE)"])
    // Python says it with one of two errors, by version.
    #expect(["\(EPERM)", "value"].contains(lines.last))
  }

  @Test("A crash leaves no core file")
  func core() throws {
    let fixture = try SandboxFixture()
    var request = ProbeRequest(policy: fixture.policy())
    request.limits = ProcessLimits()
    request.program = [
      "python3", "-c", "import os, sys; os.chdir(sys.argv[1]); os.abort()", fixture.output,
    ]
    let outcome = try fixture.start(request)
    #expect(outcome.signal == SIGABRT)
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.output.description) == [])
  }

  @Test("Nothing but core files is limited where nothing is said")
  func none() throws {
    var old = rlimit()
    try #require(getrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &old) == 0)
    let (_, lines) = try run(
      ProcessLimits(),
      "import resource\nprint(resource.getrlimit(resource.RLIMIT_DATA)[0] % (1 << 64))")
    #expect(lines == ["\(old.rlim_cur)"])
  }
}
