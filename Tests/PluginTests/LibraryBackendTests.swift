import Foundation
import PipelineModel
import PipelinePlugin
import PluginHost
import Synchronization
import Testing

@Suite("Plugins in libraries", .timeLimit(.minutes(2)))
struct LibraryBackendTests {
  let compiler: PluginCompiler

  init() throws { compiler = try PluginCompiler() }

  @Test("A plugin in C works, logs and reports progress")
  func plainC() throws {
    let lines = Mutex<[String]>([])
    let job = JobControl(
      log: { level, line in lines.withLock { $0.append("\(level.rawValue) \(line)") } },
      progress: { fraction in lines.withLock { $0.append("\(fraction)") } })
    let backend = try LibraryBackend(path: try compiler.compile())
    #expect(backend.manifest.id == "sample" && backend.manifest.accepts == ["text/*"])
    let instance = try backend.makeInstance(options: ["letter": "x"])
    #expect(instance.estimate(facts: ["identify": ["width": 3]]) == 4096)
    let result = try run(instance, job)
    #expect(result == .done(facts: ["answer": 42]))
    #expect(lines.withLock { Set($0) } == ["1 at work", "0.5"])
    #expect(try compiler.releases() == 2)
  }

  @Test("A cancelled job tells the plugin so")
  func cancelled() throws {
    let backend = try LibraryBackend(path: try compiler.compile())
    let job = JobControl()
    job.cancel()
    let result = try run(try backend.makeInstance(options: [:]), job)
    #expect(result == .failed(PluginFailure(.transient, "Given up.")))
  }

  @Test("A library of another Swift toolchain is refused before any function of it is called")
  func otherToolchain() throws {
    let marker = compiler.folder.appending(path: "called")
    let failure = try refusal([
      "MARKER": #""\#(marker.path)""#, "TOOLCHAIN": #""swift with another""#,
    ])
    #expect(failure.class == .environment)
    #expect(failure.reason.contains("swift with another"))
    #expect(!FileManager.default.fileExists(atPath: marker.path))
  }

  @Test("What is not a plugin is refused", arguments: Refused.all)
  func refused(sample: Refused) throws {
    let failure = try refusal(sample.macros)
    #expect(failure.class == sample.failure)
    #expect(failure.reason.contains(sample.words), "\(failure.reason)")
  }

  struct Refused: Sendable, CustomTestStringConvertible {
    let words: String
    let failure: PluginFailure.Class
    let macros: [String: String]
    var testDescription: String { words }

    static let all = [
      Refused(words: "doesn't export", failure: .permanent, macros: ["ENTRY": "other"]),
      Refused(words: "can't work with ABI", failure: .environment, macros: ["IS_EMPTY": "1"]),
      Refused(words: "speaks ABI 2", failure: .environment, macros: ["ABI": "2"]),
      Refused(words: "a table of 16 bytes", failure: .permanent, macros: ["SIZE": "16"]),
      Refused(words: "leaves out a function", failure: .permanent, macros: ["RELEASE": "0"]),
      Refused(
        words: "can't be decoded", failure: .permanent, macros: ["MANIFEST": #""{\"id\":""#]),
      Refused(words: "not UTF-8", failure: .permanent, macros: ["MANIFEST": #""\xff""#]),
      Refused(words: "the id “Ä”", failure: .permanent, macros: ["ID": #""Ä""#]),
      Refused(
        words: "outputVersion is 0", failure: .permanent, macros: ["OUTPUT_VERSION": #""0""#]),
    ]
  }

  @Test(
    "Garbage for an answer is a permanent failure that says so",
    arguments: [
      ("", "can't be decoded"), ("nonsense", "“nonsense”"), ("\\xff\\xfe", "not UTF-8"),
      ("{\\\"outcome\\\":\\\"perhaps\\\"}", "can't be decoded"), ("[]", "can't be decoded"),
      (
        #"{\"outcome\":\"done\",\"renditions\":[{\"name\":\"a\",\"path\":\"../a\",\"mediaType\":\"image/png\",\"width\":1,\"height\":1}]}"#,
        "outside the output folder"
      ),
      (
        #"{\"outcome\":\"done\",\"renditions\":[{\"name\":\"a/b\",\"path\":\"a\",\"mediaType\":\"image/png\",\"width\":1,\"height\":1}]}"#,
        "is named “a/b”"
      ),
    ])
  func garbage(answer: String, words: String) throws {
    let path = try compiler.compile(["ANSWER": "\"\(answer)\""])
    let instance = try LibraryBackend(path: path).makeInstance(options: [:])
    guard case .failed(let failure) = try run(instance, JobControl()) else {
      throw Unexpected("garbage was believed")
    }
    #expect(failure.class == .permanent)
    #expect(failure.reason.contains(words), "\(failure.reason)")
  }

  @Test("A failure to set up is passed on")
  func createFails() throws {
    let failure = #""{\"class\":\"environment\",\"reason\":\"No lens.\"}""#
    let backend = try LibraryBackend(path: try compiler.compile(["CREATE_FAILURE": failure]))
    #expect(throws: PluginFailure(.environment, "No lens.")) {
      try backend.makeInstance(options: [:])
    }
  }

  @Test("A library that others may write, or in such a folder, is refused")
  func trust() throws {
    let path = try compiler.compile()
    let text = try #require(path.utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o757], ofItemAtPath: text)
    #expect(try refusal(at: path).reason.contains("chmod go-w"))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: text)
    _ = try LibraryBackend(path: path)
    let folder = try #require(path.parent.utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
    #expect(try refusal(at: path).reason.contains("chmod go-w"))
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder)
  }

  @Test("Paths that dlopen would search for, or that are nothing, are refused")
  func paths() throws {
    for path in ["libpipeline-identify.so", "/absent/libpipeline-x.so", compiler.folder.path] {
      #expect(try refusal(at: BytePath(path)).class == .environment)
    }
  }

  private func refusal(_ macros: [String: String]) throws -> PluginFailure {
    try refusal(at: try compiler.compile(macros))
  }

  private func refusal(at path: BytePath) throws -> PluginFailure {
    try #require(throws: PluginFailure.self) { try LibraryBackend(path: path) }
  }

  private func run(_ instance: any PluginInstance, _ job: JobControl) throws -> PluginResult {
    let request = PluginRequest(
      job: "1",
      asset: .init(
        id: try #require(AssetID("018f0000-0000-7000-8000-000000000001")), name: "a",
        digest: try #require(Digest(bytes: [UInt8](repeating: 7, count: 32))), size: 1),
      input: "/in", output: "/out", options: [:], facts: [:])
    let answer = Mutex<PluginResult?>(nil)
    instance.process(request, job: job) { result in answer.withLock { $0 = result } }
    return try #require(answer.withLock { $0 })
  }
}
