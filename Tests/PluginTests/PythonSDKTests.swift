import Fixtures
import Foundation
import PipelineModel
import Testing

@Suite("The SDK for Python", .timeLimit(.minutes(2)))
struct PythonSDKTests {
  @Test("Its manifest is the author's, with the keys that were left out")
  func manifest() throws {
    let plugin = try PythonPlugin("pass")
    let answer = try plugin.process.ask(["type": "hello", "protocol": 1, "later": [1]])
    #expect(answer["type"] == "manifest" && answer["protocol"] == 1)
    let manifest = try #require(answer["manifest"])
    #expect(manifest["id"] == "sample" && manifest["outputVersion"] == 1)
    #expect(manifest["scope"] == "original" && manifest["facts"] == [])
    #expect(manifest["estimates"] == false && manifest["makesRenditions"] == false)
    #expect(manifest["runtime"]?.string?.hasPrefix("Python 3.") == true)
    #expect(try plugin.process.ask(["type": "create", "options": [:]]) == ["type": "created"])
    #expect(try plugin.process.end() == (0, ""))
  }

  @Test("Facts, renditions, log, progress and limits are passed on, and options get their defaults")
  func results() throws {
    let plugin = try PythonPlugin(
      """
      open(os.path.join(request["output"], "a.png"), "wb").write(b"x")
      host.log("half", "warning")
      host.progress(7)
      host.limit_cpu(2)
      rendition = {"name": "a", "path": "a.png", "mediaType": "image/png", "width": 1, "height": 2}
      return {"facts": request["options"], "renditions": [rendition]}
      """)
    let process = plugin.process
    #expect(
      try process.ask(plugin.job(options: ["name": "ü"]))
        == ["type": "log", "level": "warning", "message": "half"])
    #expect(try process.receive() == ["type": "progress", "fraction": 1])
    #expect(try process.receive()["cpu"]?.integer == 2)
    let result = try #require(try process.receive()["result"])
    #expect(result["outcome"] == "done" && result["facts"] == ["depth": 3, "name": "ü"])
    #expect(result["renditions"]?.array?.first?["path"] == "a.png")
  }

  @Test("A job without facts is done, one that is skipped says why")
  func nothing() throws {
    #expect(try PythonPlugin("return None").result() == ["outcome": "done"])
    #expect(
      try PythonPlugin("raise Skip('No\\nsky.')").result()
        == ["outcome": "skipped", "reason": "No sky."])
  }

  @Test(
    "An exception becomes a failure of the right class",
    arguments: [
      ("raise Failure('environment', 'No scanner.')", "environment", "No scanner."),
      ("raise Failure('transient', 'Later.')", "transient", "Later."),
      ("raise ValueError('no\\n  picture')", "permanent", "ValueError: no picture"),
      ("raise MemoryError()", "transient", "MemoryError"),
      ("raise OSError(errno.ENOSPC, 'full')", "transient", "OSError: [Errno 28] full"),
      ("raise OSError(errno.EIO, 'bad')", "transient", "OSError: [Errno 5] bad"),
      ("import no_such_module", "environment", "No module named 'no_such_module'"),
      ("open(request['input'])", "permanent", "No such file or directory: 'the file'"),
    ])
  func failures(body: String, kind: String, reason: String) throws {
    let failure = try PythonPlugin(body).failure()
    #expect(failure.kind == kind && failure.reason.contains(reason), "\(failure)")
  }

  @Test(
    "What process returns is checked before it is sent",
    arguments: [
      ("return {'facts': {'a': 'x' * (1 << 20)}}", "bytes as JSON, more than 1 MiB"),
      ("return {'fact': 1}", "unknown key 'fact'"), ("return 7", "TypeError"),
      ("return {'facts': [1]}", "not a dictionary"), ("return {'facts': {'a': {1}}}", "set"),
      ("return {'facts': {'a': float('nan')}}", "not JSON compliant"),
      ("return {'renditions': [{'name': 'a'}]}", "path is not"),
      (
        "return {'renditions': [dict(name='a', path='b', mediaType='c/d', width=1, height=1)]}",
        "not a file"
      ),
      (
        "return {'renditions': [dict(name='a', path='../sample.py', mediaType='c/d', width=1, height=1)]}",
        "not a file in the output folder"
      ),
    ])
  func wrongAnswers(body: String, reason: String) throws {
    let failure = try PythonPlugin(body).failure()
    #expect(failure.kind == "permanent" && failure.reason.contains(reason), "\(failure)")
  }

  @Test("Nothing but messages gets to standard output, whoever prints")
  func prints() throws {
    let plugin = try PythonPlugin(
      """
      print("by Python")
      sys.__stdout__.write("by the old stream")
      os.write(1, b"by number")
      subprocess.run(["/bin/echo", "by another program"])
      assert sys.stdin.read() == ""
      """, prologue: "print('while it starts', flush=True)")
    #expect(try plugin.result() == ["outcome": "done"])
    #expect(try plugin.process.end() == (0, ""))
    for text in ["by Python", "by number", "by another program", "while it starts"] {
      #expect(plugin.process.errors.contains(text), "\(text)")
    }
  }

  @Test("A job sees that it is cancelled, and the next one is not")
  func cancellation() throws {
    let plugin = try PythonPlugin(
      """
      host.progress(0)
      for _ in range(2000 if request["job"] == "1" else 10):
          time.sleep(0.01)
          if host.cancelled:
              raise Failure("transient", "Given up.")
      """)
    #expect(try plugin.process.ask(plugin.job("1"))["type"] == "progress")
    try plugin.process.send(["type": "cancel", "job": "0"])
    try plugin.process.send(["type": "cancel", "job": "1"])
    #expect(try plugin.process.receive()["result"]?["failure"]?["reason"] == "Given up.")
    #expect(try plugin.process.ask(plugin.job("2"))["type"] == "progress")
    #expect(try plugin.process.receive()["result"]?["outcome"] == "done")
  }

  @Test("The end of its input ends it in the middle of a job")
  func endOfInput() throws {
    let plugin = try PythonPlugin("host.progress(0)\ntime.sleep(600)")
    #expect(try plugin.process.ask(plugin.job())["type"] == "progress")
    #expect(try plugin.process.end(within: 10) == (0, ""))
  }

  @Test("A module that is missing is told as the answer to hello")
  func missingModule() throws {
    let plugin = try PythonPlugin("pass", prologue: "import no_such_module")
    let answer = try plugin.process.ask(["type": "hello", "protocol": 1])
    #expect(answer["type"] == "failed" && answer["failure"]?["class"] == "environment")
    #expect(answer["failure"]?["reason"]?.string?.contains("no_such_module") == true)
    #expect(try plugin.process.end().status == 1)
  }

  @Test("Options that create refuses are a failure, and unknown messages unsupported")
  func creation() throws {
    let plugin = try PythonPlugin(
      "pass",
      prologue: """
        def create(options):
            if options["depth"] == 4: raise Failure("environment", "Too deep.")
        """, run: ", create=create")
    let process = plugin.process
    #expect(try process.ask(["type": "create", "options": [:]]) == ["type": "created"])
    let answer = try process.ask(["type": "create", "options": ["depth": 4]])
    #expect(answer["failure"] == ["class": "environment", "reason": "Too deep."])
    #expect(try process.ask(["type": "dance"]) == ["type": "unsupported"])
    #expect(try process.ask(["type": "estimate", "facts": [[:]]]) == ["type": "unsupported"])
  }

  @Test("Estimates are figures, or null where there is none")
  func estimates() throws {
    let plugin = try PythonPlugin(
      "pass", prologue: "def estimate(facts): return facts['identify']['width'] * 4",
      run: ", estimate=estimate")
    let manifest = try plugin.process.ask(["type": "hello", "protocol": 1])["manifest"]
    #expect(manifest?["estimates"] == true)
    let answer = try plugin.process.ask([
      "type": "estimate", "facts": [["identify": ["width": 10]], [:]],
    ])
    #expect(answer == ["type": "estimates", "bytes": [40, .null]])
  }

  @Test("The file is written in the Python of version 3.9")
  func version() throws {
    let script = "import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 9))"
    let check = try Process.run(
      URL(filePath: "/usr/bin/python3"), arguments: ["-c", script, PythonPlugin.file.path])
    check.waitUntilExit()
    #expect(check.terminationStatus == 0)
  }
}
