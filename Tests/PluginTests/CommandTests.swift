import Fixtures
import Foundation
import PipelineModel
import PipelinePlugin
import PluginHost
import Testing

@Suite("Commands", .timeLimit(.minutes(2)))
struct CommandTests {
  /// Runs a shell script that is a file, so that its text is not among the arguments.
  private func script(
    _ text: String, arguments: [String] = [], options: [String: JSONValue] = [:],
    in run: PluginRun, job: JobControl = JobControl()
  ) throws -> PluginResult {
    let file = run.folder.appending(path: "a script.sh")
    try Data(("#!/bin/sh\n" + text).utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    var options = options
    options["command"] = .array(([file.path] + arguments).map { .string($0) })
    return try run.process(
      Array("the bytes".utf8), name: "in put.jpg", options: .object(options), job: job)
  }

  private func text(_ script: String, arguments: [String] = []) throws -> String {
    let run = try PluginRun("command")
    let result = try self.script(
      script, arguments: arguments, options: ["facts": "text"], in: run)
    guard case .done(let facts, _) = result else { throw Unexpected("\(result)") }
    return try #require(facts["output"]?.string)
  }

  private func failure(
    _ script: String, options: [String: JSONValue] = [:]
  ) throws -> PluginFailure {
    let run = try PluginRun("command")
    guard case .failed(let failure) = try self.script(script, options: options, in: run) else {
      throw Unexpected("the job did not fail")
    }
    run.expectSentence(failure.reason)
    return failure
  }

  @Test("Arguments come as they are written, with the places filled in")
  func arguments() throws {
    let odd = ["a b", "'\"$(id)`id`\\", "two\nlines", "-rf", "", "*", "ü%FF", "{{x}", "a{{{{b"]
    let places = ["{id}", "x{digest}y", "{name}", "{mediaType}"]
    let found = try text(
      "for word in \"$@\"; do printf '<%s>' \"$word\"; done", arguments: odd + places)
    let plain = odd.map { $0.replacing("{{", with: "{") }
    let values = [
      "018f0000-0000-7000-8000-000000000001", "x" + String(repeating: "07", count: 32) + "y",
      "picture.jpg", "application/octet-stream",
    ]
    #expect(found == (plain + values).map { "<\($0)>" }.joined())
  }

  @Test("The input is read, and the output folder is where the program works")
  func folders() throws {
    let run = try PluginRun("command")
    let result = try script(
      "cat \"$1\" > copy; test \"$PWD\" -ef \"$2\" && pwd", arguments: ["{input}", "{output}"],
      options: ["facts": "text"], in: run)
    #expect(result == .done(facts: ["output": .string(run.output.path + "\n")]))
    #expect(try Data(contentsOf: run.output.appending(path: "copy")) == Data("the bytes".utf8))
  }

  @Test("The program has a small environment, nothing to read, and no file but its own three")
  func surroundings() throws {
    #expect(try text("cat") == "")
    let names = try text("env | sed 's/=.*//' | sort | tr '\\n' ' '")
    // The shell adds what begins with PWD, OLDPWD and the like.
    #expect(names == "HOME LANG PATH PWD TMPDIR " || names == "HOME LANG PATH PWD SHLVL TMPDIR _ ")
    // ls has one of its own open: the folder that it lists.
    #expect(try text("ls /proc/self/fd | tr '\\n' ' '") == "0 1 2 3 ")
    let ignored = try text("grep SigIgn /proc/self/status").split(separator: ":").last ?? ""
    let mask = try #require(
      UInt64(ignored.trimmingCharacters(in: .whitespacesAndNewlines), radix: 16))
    // The C library lets a program that it starts ignore its own two signals, 32 and 33.
    #expect(mask & ~0x1_8000_0000 == 0)
  }

  @Test("Without facts what is printed is passed over; as JSON it becomes the facts")
  func facts() throws {
    let run = try PluginRun("command")
    #expect(try script("echo hello", in: run) == .done(facts: [:]))
    let json = try script(
      #"printf '{"faces":3,"who":["a",null]}\n'"#, options: ["facts": "json"], in: run)
    #expect(json == .done(facts: ["faces": 3, "who": ["a", .null]]))
  }

  @Test("Declared pictures become renditions of the size that they tell", arguments: Self.kinds)
  func renditions(kind: String, suffix: String) throws {
    let run = try PluginRun("command")
    let picture = try Pictures.file(try Pictures.picture(width: 30, height: 20), suffix)
    let source = run.folder.appending(path: "source")
    try Data(picture).write(to: source)
    let result = try script(
      "cp '\(source.path)' first; mkdir deep; cp first deep/second; echo x > third",
      options: [
        "renditions": [
          ["name": "one", "file": "first", "mediaType": .string(kind)],
          ["name": "two", "file": "deep/second", "mediaType": .string(kind)],
          ["name": "none", "file": "fourth", "mediaType": "image/png", "optional": true],
        ]
      ], in: run)
    func made(_ name: String, _ path: String) -> PluginRendition {
      PluginRendition(name: name, path: path, mediaType: kind, width: 30, height: 20)
    }
    #expect(
      result == .done(facts: [:], renditions: [made("one", "first"), made("two", "deep/second")]))
  }

  private static let kinds = [
    ("image/jpeg", ".jpg"), ("image/png", ".png"), ("image/webp", ".webp"), ("image/gif", ".gif"),
  ]

  @Test(
    "A declared file that is missing, no such picture, or a link fails for good",
    arguments: [
      ("true", "made no file “out.png”"), ("echo x > out.png", "no picture of the type image/png"),
      ("printf '\\377\\330\\377' > out.png", "no picture of the type image/png"),
      ("ln -s /etc/hostname out.png", "no picture"), ("mkdir out.png", "no picture"),
    ])
  func unusable(script: String, words: String) throws {
    let failure = try failure(
      script,
      options: [
        "renditions": [["name": "a", "file": "out.png", "mediaType": "image/png"]]
      ])
    #expect(failure.class == .permanent && failure.reason.contains(words), "\(failure.reason)")
  }

  @Test(
    "A rendition outside of the output folder, or one that is there twice, is refused",
    arguments: ["../x.png", "/tmp/x.png", "a//b", "x.png"])
  func misplaced(file: String) throws {
    let other: JSONValue = ["name": "b", "file": "x.png", "mediaType": "image/png"]
    let run = try PluginRun("command")
    #expect(throws: PluginFailure.self) {
      _ = try run.backend.makeInstance(options: [
        "command": ["true"],
        "renditions": [
          ["name": "a", "file": .string(file), "mediaType": "image/png"], other,
        ],
      ])
    }
  }

  @Test(
    "What is no JSON object fails for good",
    arguments: [
      "", "echo hello", "echo '[1]'", "printf '{\"a\":1}{'", "printf '{\"a\":\"\\377\"}'",
    ])
  func noObject(script: String) throws {
    #expect(try failure(script, options: ["facts": "json"]).class == .permanent)
  }

  @Test("The exit code decides", arguments: [0, 1, 3, 4, 75, 255])
  func exitCodes(code: Int) throws {
    let run = try PluginRun("command")
    let options: [String: JSONValue] = ["success": [0, 3], "skip": [4]]
    let text = "echo one >&2; echo 'no such lens' >&2; exit \(code)"
    let result = try script(text, options: options, in: run)
    switch (code, result) {
    case (0, .done), (3, .done): break
    case (4, .skipped(let reason)):
      run.expectSentence(reason)
      #expect(reason.hasSuffix("ended with exit code 4: one / no such lens."))
    case (75, .failed(let failure)): #expect(failure.class == .transient)
    case (1, .failed(let failure)), (255, .failed(let failure)):
      #expect(failure.class == .permanent)
      #expect(failure.reason.hasSuffix("exit code \(code): one / no such lens."))
    default: Issue.record("\(code): \(result)")
    }
  }

  @Test("A signal is a failure that may pass, and is named")
  func signal() throws {
    let failure = try failure("kill -SEGV $$")
    #expect(failure.class == .transient && failure.reason.contains("signal 11"))
  }

  @Test("Floods on both pipes are read and forgotten, and a text is cut")
  func floods() throws {
    let run = try PluginRun("command")
    let flood = "head -c 5000000 /dev/zero | tr '\\0' x >&2; head -c 5000000 /dev/zero | tr '\\0' y"
    guard
      case .done(let facts, _) = try script(flood, options: ["facts": "text"], in: run)
    else { throw Unexpected("not done") }
    #expect(facts["output"]?.string?.utf8.count == 64 << 10 && facts["cut"] == true)
    #expect(try failure(flood, options: ["facts": "json"]).reason.contains("more than 1 MiB"))
    let failed = try failure(flood + "; exit 1")
    #expect(failed.reason.contains("xxx"))
  }

  @Test("A process that is left behind with the pipes is not waited for")
  func leftBehind() throws {
    let start = ContinuousClock.now
    #expect(try text("sleep 100 & echo done") == "done\n")
    #expect(ContinuousClock.now - start < .seconds(50))
  }

  @Test(
    "A cancelled program is ended, also one that does not listen",
    arguments: ["", "trap '' TERM; "])
  func cancelled(prefix: String) throws {
    let run = try PluginRun("command")
    let job = JobControl()
    let marker = run.folder.appending(path: "pid")
    Thread.detachNewThread {
      // A job is given up once its program runs for sure.
      for _ in 0..<1_000 where !FileManager.default.fileExists(atPath: marker.path) {
        Thread.sleep(forTimeInterval: 0.01)
      }
      job.cancel()
    }
    let start = ContinuousClock.now
    let result = try script(
      prefix + "echo $$ > ../pid.new; mv ../pid.new ../pid; while :; do sleep 0.1; done", in: run,
      job: job)
    #expect(result == .failed(PluginFailure(.transient, "The job was cancelled.")))
    #expect(ContinuousClock.now - start < .seconds(20))
    let id = try String(contentsOf: marker, encoding: .utf8).trimmingCharacters(in: .newlines)
    #expect(!FileManager.default.fileExists(atPath: "/proc/\(id)"))
  }

  @Test(
    "Options that can't be are refused with the reason",
    arguments: [
      ("{}", "command must be"), (#"{"command":[]}"#, "command must be"),
      (#"{"command":["true","{inptu}"]}"#, "“{inptu}”"),
      (#"{"command":["true","{input"]}"#, "unknown placeholder"),
      (#"{"command":["{input}"]}"#, "can't contain a placeholder"),
      (#"{"command":["bin/true"]}"#, "begins with a slash"),
      (#"{"command":["true"],"skip":[0]}"#, "exit code 0 is in two"),
      (#"{"command":["true"],"skip":[256]}"#, "256 is not an exit code"),
      (#"{"command":["no-such-program-here"]}"#, "is in none of /usr/local/bin"),
      (#"{"command":["true"],"fact":"json"}"#, "“fact” is not an option"),
    ])
  func refused(options: String, words: String) throws {
    let backend = try PluginRun("command").backend
    let value = try JSONText.decode(JSONValue.self, from: options)
    let failure = #expect(throws: PluginFailure.self) { try backend.makeInstance(options: value) }
    #expect(failure?.class == .environment)
    #expect(failure?.reason.contains(words) == true, "\(failure?.reason ?? "")")
  }

  @Test("A program that is not there or not executable is the environment's fault")
  func missing() throws {
    let run = try PluginRun("command")
    for program in ["/nowhere/at/all", "/etc/hostname"] {
      let options: JSONValue = ["command": [.string(program)]]
      guard case .failed(let failure) = try run.process([1], options: options) else {
        throw Unexpected("it was started")
      }
      #expect(failure.class == .environment && failure.reason.contains(program))
    }
  }
}
