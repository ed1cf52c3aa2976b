import Files
import Glibc
import PipelineModel
import PipelinePlugin

/// What an instance's worker is doing, and which requests wait for it.
///
/// A worker gets one request at a time, and the next once its answer has been handled. So whatever
/// it uses or makes belongs to that one request, or to no job. This only decides: the instance
/// carries out what the methods return.
struct WorkerState: Sendable {
  typealias Instant = ContinuousClock.Instant

  enum Phase: Sendable {
    /// There is no worker.
    case none
    /// The plugin is loaded and set up; the next answer is `manifest` or `created`.
    case settingUp(isLoaded: Bool)
    case idle
    case asked(Question)
    case working(Job)
    /// The worker is being ended. Its answers no longer count, only its end does.
    ///
    /// A job that it was working on or being set up for fails with the failure, if there is one.
    /// After `killAt`, it is killed.
    indirect case leaving(Phase, because: PluginFailure?, killAt: Instant?)
  }

  /// A request to estimate what jobs need.
  struct Question: Sendable {
    let facts: [[String: JSONValue]]
    let completion: @Sendable ([Int?]) -> Void

    /// Completes it without an answer.
    func giveUp() { completion(facts.map { _ in nil }) }
  }

  struct Job: Sendable {
    let request: PluginRequest
    let control: JobControl
    let completion: @Sendable (PluginResult) -> Void
  }

  /// What the instance does next.
  enum Step: Sendable {
    case start
    case ask(Question)
    case begin(Job)
  }

  /// What follows from a message.
  enum Reaction: Sendable {
    case complete(Question, [Int?]?)
    case finish(Job, PluginResult)
    case signal(Int32)
  }

  /// What an ended worker leaves behind.
  struct Remains: Sendable {
    var questions: [Question]
    /// The jobs that fail: the one that it was working on, or those that it was set up for.
    var jobs: [Job] = []
    /// Why they fail, unless how it ended says that.
    let failure: PluginFailure?
    let isSetUp: Bool
    let lastLog: String
    let onEnd: [@Sendable () -> Void]
  }

  let manifest: PluginManifest
  let limits: WorkerLimits
  let policy: WorkerPolicy

  private(set) var phase = Phase.none
  /// Counts phases, so that what was measured in one is not held against the next.
  private(set) var turn = 0
  /// When the phase began.
  private(set) var since = Instant.now
  private(set) var isClosed = false
  /// Jobs that the current worker did.
  private(set) var jobsDone = 0
  private var questions: [Question] = []
  private var jobs: [Job] = []
  private var onEnd: [@Sendable () -> Void] = []
  private var lastLog = ""
  private var logBudget = LogBudget()
  /// When the worker closed its standard output, after which it can't answer.
  private(set) var outputClosedAt: Instant?
  /// The worker's processor time when it was first seen working on its job, or last seen idle.
  var processorSeconds: Double?
  /// The most processor time that the plugin wants for its job.
  private(set) var wantedCPU: TimeSpan?

  init(_ manifest: PluginManifest, limits: WorkerLimits, policy: WorkerPolicy) {
    self.manifest = manifest
    self.limits = limits
    self.policy = policy
  }

  /// The phase before the worker began to leave.
  var activity: Phase {
    if case .leaving(let last, _, _) = phase { last } else { phase }
  }

  var isIdle: Bool { if case .idle = activity { true } else { false } }

  var isLeaving: Bool { if case .leaving = phase { true } else { false } }

  /// The job that the worker is working on.
  var job: Job? { if case .working(let job) = activity { job } else { nil } }

  private mutating func enter(_ phase: Phase, at now: Instant = .now) {
    self.phase = phase
    turn += 1
    since = now
    processorSeconds = nil
    wantedCPU = nil
  }

  // MARK: Requests

  mutating func add(_ job: Job) { jobs.append(job) }

  /// - Returns: `false` if the question would have to wait for another worker, which takes longer
  ///   than an answer is worth.
  mutating func add(_ question: Question) -> Bool {
    if isLeaving || isClosed { return false }
    questions.append(question)
    return true
  }

  /// Returns what to do now; `nil` while the worker owes an answer, or if nothing waits.
  func next() -> Step? {
    switch phase {
    case .none: questions.isEmpty && jobs.isEmpty ? nil : .start
    case .idle: questions.first.map { .ask($0) } ?? jobs.first.map { .begin($0) }
    case .settingUp, .asked, .working, .leaving: nil
    }
  }

  /// Begins to start a worker, which has `ended` if that fails.
  mutating func starting(at now: Instant = .now) {
    enter(.settingUp(isLoaded: false), at: now)
    jobsDone = 0
    lastLog = ""
    outputClosedAt = nil
  }

  /// Makes the first waiting request the worker's.
  ///
  /// - Returns: `false` if the worker is leaving by now; the request waits for the next one.
  mutating func begin(at now: Instant = .now) -> Bool {
    guard case .idle = phase else { return false }
    if !questions.isEmpty {
      enter(.asked(questions.removeFirst()), at: now)
    } else if !jobs.isEmpty {
      enter(.working(jobs.removeFirst()), at: now)
      logBudget = LogBudget()
    }
    return true
  }

  /// Removes the first waiting request, which can't be sent.
  mutating func drop() {
    if !questions.isEmpty { questions.removeFirst() } else { jobs.removeFirst() }
  }

  // MARK: What the worker sends

  mutating func receive(_ message: PluginMessage, at now: Instant = .now) -> Reaction? {
    switch (phase, message) {
    case (.none, _), (.leaving, _):
      return nil
    case (.settingUp(isLoaded: false), .manifest(HostMessage.currentProtocol, manifest)):
      enter(.settingUp(isLoaded: true), at: now)
    case (.settingUp(isLoaded: false), .manifest):
      let text =
        "The plugin \(manifest.id) has changed since this program started: restart the program."
      return leave(because: PluginFailure(.environment, text)).map(Reaction.signal)
    case (.settingUp(isLoaded: true), .created):
      enter(.idle, at: now)
    case (.settingUp, .failed(let failure)):
      let failure = PluginFailure(.environment, failure.reason)
      return leave(because: failure).map(Reaction.signal)
    case (.asked(let question), .estimates(let bytes)) where bytes.count == question.facts.count:
      enter(.idle, at: now)
      return .complete(question, bytes)
    case (.asked(let question), .unsupported):
      enter(.idle, at: now)
      return .complete(question, nil)
    case (.working(let job), .result(let name, let result)) where name == job.request.job:
      enter(.idle, at: now)
      jobsDone += 1
      return .finish(job, result)
    default:
      return violate("that nobody asked for").map(Reaction.signal)
    }
    return nil
  }

  /// Ends a worker that violates the protocol; a job is blamed only for its own result.
  ///
  /// - Returns: the signal to send, if any, as with all methods that end a worker.
  mutating func violate(_ what: String) -> Int32? {
    var failure = malformedAnswer(what)
    if case .settingUp = phase { failure.class = .environment }
    return leave(because: failure)
  }

  func malformedAnswer(_ what: String) -> PluginFailure {
    PluginFailure(.permanent, "The plugin \(manifest.id) returned an answer \(what).")
  }

  /// Records a line of the worker's log.
  ///
  /// - Returns: the control of the job that it belongs to, unless that has logged too much.
  mutating func log(_ line: String) -> JobControl? {
    lastLog = line
    guard let job, logBudget.spend(line) else { return nil }
    return job.control
  }

  /// The most seconds of processor time that make a limit: a year.
  private static let longestCPU = 366.0 * 86_400

  /// Records how much processor time the plugin wants for its job at most; ignores what is no time.
  mutating func limit(cpu seconds: Double) {
    guard job != nil, seconds > 0, seconds <= Self.longestCPU else { return }
    let wanted = TimeSpan(milliseconds: Int((seconds * 1000).rounded(.up)))
    if wanted.milliseconds < wantedCPU?.milliseconds ?? .max { wantedCPU = wanted }
  }

  mutating func outputClosed(at now: Instant = .now) { outputClosedAt = now }

  // MARK: The worker's end

  /// Begins to end the worker.
  ///
  /// - Parameters:
  ///   - failure: of the job that it works on, or is being set up for.
  ///   - killAt: when to kill it; `nil` for now.
  mutating func leave(because failure: PluginFailure? = nil, killAt: Instant? = nil) -> Int32? {
    switch phase {
    case .none, .leaving: return nil
    case .settingUp, .idle, .asked, .working:
      phase = .leaving(phase, because: failure, killAt: killAt)
      return killAt == nil ? SIGKILL : SIGTERM
    }
  }

  /// Lets no more workers start. An idle worker may end by itself; a busy one is past its deadline.
  mutating func close(at now: Instant = .now, onEnd body: @escaping @Sendable () -> Void) -> Int32?
  {
    isClosed = true
    switch phase {
    case .none: return nil
    case .idle:
      phase = .leaving(.idle, because: nil, killAt: now + .seconds(policy.grace))
    case .leaving where isIdle: break
    case .settingUp, .asked, .working, .leaving:
      phase = .leaving(activity, because: failure, killAt: nil)
    }
    onEnd.append(body)
    return isIdle ? nil : SIGKILL
  }

  /// Why the worker's job fails.
  private var failure: PluginFailure? {
    if case .leaving(_, let failure, _) = phase { failure } else { nil }
  }

  mutating func ended(at now: Instant = .now) -> Remains {
    let isSetUp = if case .settingUp = activity { false } else { true }
    var remains = Remains(
      questions: questions, failure: failure, isSetUp: isSetUp, lastLog: lastLog, onEnd: onEnd)
    switch activity {
    case .settingUp: (remains.jobs, jobs) = (jobs, [])
    case .asked(let question): remains.questions.append(question)
    case .working(let job): remains.jobs = [job]
    case .none, .idle, .leaving: break
    }
    (questions, onEnd) = ([], [])
    enter(.none, at: now)
    return remains
  }
}

/// Limits how much of a plugin's log is passed on per job.
///
/// A plugin that floods its log is not stopped, and fills nothing.
struct LogBudget {
  private var bytes = 64 << 10

  /// Whether to pass a line on; each costs its length and a little.
  mutating func spend(_ line: String) -> Bool {
    guard bytes > 0 else { return false }
    bytes -= line.utf8.count + 64
    return true
  }
}
