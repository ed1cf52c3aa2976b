import Files
import Hashing
import PipelineModel
import PipelinePlugin
import PluginHost

/// A running plugin that is sent one message at a time.
final class CheckedPlugin {
  /// The outcome of one job.
  struct Job {
    let result: PluginResult
    /// The digests of its renditions, in order.
    var renditions: [Digest] = []
    /// Files left in the output folder that the result does not name.
    var leftovers: [BytePath] = []
  }

  var input: BytePath { session.input }

  private let session: WorkerSession
  private let bench: CheckBench
  private let options: JSONValue
  private var jobs = 0
  private var lastLog = ""

  init(_ session: WorkerSession, options: JSONValue, bench: CheckBench) {
    self.session = session
    self.options = options
    self.bench = bench
  }

  deinit {
    // Clean-up: the check folder is removed in any case.
    try? session.end()
  }

  // MARK: Questions

  /// Sends “hello” and returns the manifest.
  func hello() throws(CheckFailure) -> PluginManifest {
    let version = HostMessage.currentProtocol
    session.send(.hello(protocol: version, program: bench.program))
    switch try answer(to: "hello") {
    case .manifest(version, let manifest): return manifest
    case .manifest(let other, _):
      throw CheckFailure(
        "It speaks version \(other) of the protocol.",
        advice: "Answer “hello” with \"protocol\":\(version).")
    case .failed(let failure):
      throw CheckFailure(
        "It reports that it can't work: \(failure.reason)",
        advice: "Install what it lacks on this machine, then try again.")
    case let other: throw Self.unexpected(other, to: "hello", instead: "manifest")
    }
  }

  /// Sends “create” with the options.
  func create() throws(CheckFailure) {
    session.send(.create(options: options))
    switch try answer(to: "create") {
    case .created: return
    case .failed(let failure):
      throw CheckFailure(
        "It refuses the options \(Self.text(options)): \(failure.reason)",
        advice: "Accept all options that the manifest's schema allows. Pass required options to "
          + "this check with --options.")
    case let other: throw Self.unexpected(other, to: "create", instead: "created")
    }
  }

  func estimate(_ facts: [[String: JSONValue]]) throws(CheckFailure) -> [Int?] {
    session.send(.estimate(facts: facts))
    switch try answer(to: "estimate") {
    case .estimates(let bytes): return bytes
    case let other: throw Self.unexpected(other, to: "estimate", instead: "estimates")
    }
  }

  /// Sends a message type that does not exist in any version of the protocol.
  func sendUnknown() throws(CheckFailure) {
    session.send(.unknown("no-such-message"))
    switch try answer(to: "no-such-message") {
    case .unsupported: return
    case let other: throw Self.unexpected(other, to: "no-such-message", instead: "unsupported")
    }
  }

  // MARK: Jobs

  func process(_ sample: CheckSample) throws(CheckFailure) -> Job {
    let request = try prepare(sample)
    begin(request)
    let job = try finish(request)
    try clear()
    return job
  }

  /// Puts a file into the input folder and makes a request for it.
  ///
  /// - Parameters:
  ///   - wanted: the names of the renditions to make; `nil` for all.
  ///   - kept: what it may make them of, with paths outside the input folder.
  func prepare(
    _ sample: CheckSample, wanted: [String]? = nil, kept: [PluginRequest.Kept] = []
  ) throws(CheckFailure) -> PluginRequest {
    jobs += 1
    let name = "\(jobs)"
    let input = try place(sample.path, as: name)
    var copies = kept
    for index in copies.indices {
      copies[index].path = try place(
        BytePath(copies[index].path), as: "\(name)-kept-\(index)"
      ).description
    }
    return PluginRequest(
      job: name,
      asset: .init(
        id: Self.asset, name: sample.name, digest: SHA256.digest(of: sample.bytes),
        size: sample.bytes.count),
      input: input.description, output: session.output.description, options: options,
      wanted: wanted, kept: copies.isEmpty ? nil : copies, facts: ["identify": sample.facts],
      deadline: CheckBench.patience.seconds)
  }

  private func place(_ path: BytePath, as name: String) throws(CheckFailure) -> BytePath {
    try CheckFailure.unless(
      try session.place(path, as: BytePath(name)), "A file for it can't be prepared.",
      advice: "Free some space.")
  }

  /// The bytes of a file that a job left in the output folder.
  func outputBytes(_ path: String) throws(FileError) -> [UInt8] {
    let path = BytePath(path)
    let parent = try Descriptor.openFolder(session.output).openParent(of: path)
    return try Descriptor.openRegular(path.lastComponent, in: parent).readToEnd(limit: 1 << 30)
  }

  /// The ID of all assets here; results must not depend on it.
  private static let asset: AssetID = {
    guard let id = AssetID("018f0000-0000-7000-8000-000000000001") else {
      preconditionFailure("This is a UUID of version 7.")
    }
    return id
  }()

  func begin(_ request: PluginRequest) { session.send(.process(request)) }

  func cancel(_ job: String) { session.send(.cancel(job: job)) }

  /// Waits for the result of a job and inspects its files, which stay until `clear`.
  func finish(_ request: PluginRequest) throws(CheckFailure) -> Job {
    let message = try answer(to: "process", about: request.asset.name)
    guard case .result(let job, let result) = message else {
      throw Self.unexpected(message, to: "process", instead: "result")
    }
    guard job == request.job else {
      throw CheckFailure(
        "It gave a result for the job “\(job)” when the job was “\(request.job)”.",
        advice: "Copy “job” from the request into the message with the result.")
    }
    return try ResultInspection(
      result: result, sample: request.asset.name, output: session.output
    ).job()
  }

  func clear() throws(CheckFailure) {
    try CheckFailure.unless(
      try session.empty(), "Its files can't be removed.",
      advice: "Leave only regular files and folders in the output folder, and don't change "
        + "permissions.")
  }

  // MARK: Its end

  /// Closes its standard input and waits for it to exit.
  func end() throws(CheckFailure) {
    session.closeInput()
    while let event = session.next(within: CheckBench.patienceForEnd) {
      if case .ended = event { return }
    }
    throw CheckFailure(
      "It still runs \(CheckBench.patienceForEnd) after its standard input was closed.",
      advice: "Exit when standard input ends, even in the middle of a job.")
  }

  // MARK: Answers

  /// Waits for the answer to a message; skips log, progress and noise.
  private func answer(
    to question: String, about file: String? = nil
  ) throws(CheckFailure) -> PluginMessage {
    let end = ContinuousClock().now + CheckBench.patience.duration
    let whereabouts = file.map { " about \($0)" } ?? ""
    while ContinuousClock().now < end {
      switch session.next(within: CheckBench.patience) {
      case .message(.log(_, let line)), .log(let line): lastLog = line
      case .message(.progress), .message(.limit): break
      case .message(let message): return message
      case .malformed(let what): bench.noise.append("to “\(question)”\(whereabouts) \(what)")
      case .ended(let how):
        let last = lastLog.isEmpty ? "" : " It last logged “\(BytePath(lastLog).printable)”."
        throw CheckFailure(
          "It ended \(how) instead of answering “\(question)”\(whereabouts).\(last)",
          advice: "Answer every message, and exit only when standard input ends. See its standard "
            + "error for details.")
      case nil: break
      }
    }
    throw CheckFailure(
      "It gave no answer to “\(question)”\(whereabouts) within \(CheckBench.patience).",
      advice: "Flush after every line: most languages buffer output to a pipe.")
  }

  private static func unexpected(
    _ message: PluginMessage, to question: String, instead: String
  ) -> CheckFailure {
    // Decoded from JSON, so it can be encoded; the same goes for values below.
    let text = (try? JSONText.encode(message)) ?? ""
    return CheckFailure(
      "It answered “\(question)” with \(BytePath(String(text.prefix(120))).printable).",
      advice: "Answer with a message of type “\(instead)”. Answer each message except “cancel” "
        + "once, in order.")
  }

  private static func text(_ value: JSONValue) -> String { (try? JSONText.encode(value)) ?? "" }
}
