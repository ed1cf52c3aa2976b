import Configuration
import Engine
import Files
import PipelineModel
import PipelinePlugin
import PluginHost
import PluginTesting

/// Whether plugins take the options that stages give them, by setting each up as a run would.
///
/// A schema does not say all that a plugin asks for.
struct OptionTrial {
  private let configuration: PipelineConfiguration
  private let plan: StagePlan
  private let finder: PluginFinder

  init(_ plan: StagePlan, _ configuration: PipelineConfiguration, finder: PluginFinder) {
    self.plan = plan
    self.configuration = configuration
    self.finder = finder
  }

  /// Finds the stages whose plugin refuses its options.
  ///
  /// - Throws: `FileError` where no folder for it can be made.
  func problems() throws(FileError) -> [ConfigurationError] {
    let folder = try CheckFolder()
    var questions: [Question] = []
    for (index, stage) in configuration.stages.enumerated() {
      guard let planned = plan.stages.first(where: { $0.name == stage.name }),
        planned.fault == nil
      else { continue }
      questions.append(Question(planned, index, asked: ask(planned, number: index, in: folder)))
    }
    // All are asked before the first answer is waited for.
    return questions.compactMap { question in
      question.refusal().map { reason in
        ConfigurationError(
          code: .badValue,
          message: "The plugin “\(question.stage.configuration.plugin)” of the stage "
            + "“\(question.stage.name)” can't be set up: \(reason)",
          pointer: "/stages/\(question.index)/options", file: configuration.file)
      }
    }
  }

  private func ask(
    _ stage: StagePlan.Stage, number: Int, in folder: CheckFolder
  ) -> Result<WorkerSession?, PluginFailure> {
    Result { () throws(PluginFailure) in
      guard stage.configuration.isolation == .process else {
        try stage.tryOptions(work: folder.path)
        return nil
      }
      let program = try StagePlan.program(
        of: stage.configuration, in: configuration, finder: finder)
      do throws(FileError) {
        let session = try WorkerSession(
          program, named: BytePath("options-\(number)"), in: folder.path)
        session.send(.hello(protocol: HostMessage.currentProtocol, program: "pipeline"))
        session.send(.create(options: stage.options))
        return session
      } catch {
        throw PluginFailure(.environment, error.message)
      }
    }
  }
}

/// A plugin that was asked to take options.
private struct Question {
  let stage: StagePlan.Stage
  /// The stage's place in the configuration.
  let index: Int
  private let asked: Result<WorkerSession?, PluginFailure>

  /// How long a plugin may take to be set up.
  private static let patience = TimeSpan(milliseconds: 30_000)

  init(
    _ stage: StagePlan.Stage, _ index: Int, asked: Result<WorkerSession?, PluginFailure>
  ) {
    self.stage = stage
    self.index = index
    self.asked = asked
  }

  /// Why the plugin can't be set up; `nil` if it can.
  func refusal() -> String? {
    let session: WorkerSession?
    do throws(PluginFailure) { session = try asked.get() } catch { return error.reason }
    guard let session else { return nil }
    // Clean-up: its folder goes with that of all trials.
    defer { try? session.end() }
    var lastLog = ""
    while let event = session.next(within: Self.patience) {
      switch event {
      case .message(.created): return nil
      case .message(.failed(let failure)): return failure.kept.reason
      case .log(let line), .message(.log(_, let line)): lastLog = line
      case .nonsense(let what): return "It gave an answer \(what)."
      case .ended(let how):
        return "It ended \(how)." + (lastLog.isEmpty ? "" : " Its last words were “\(lastLog)”.")
      case .message: continue
      }
    }
    return "It did not answer in time."
  }
}
