import Configuration
import Engine
import Files
import PipelineModel
import PipelinePlugin
import PluginHost
import PluginTesting

/// Checks stages' options by sending them to the plugins, as a run would.
///
/// A schema can't express all requirements of a plugin.
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
  /// - Throws: `FileError` if no temporary folder can be made.
  func problems() throws(FileError) -> [ConfigurationError] {
    let folder = try CheckFolder()
    var questions: [Question] = []
    for (index, stage) in configuration.stages.enumerated() {
      guard let planned = plan.stages.first(where: { $0.name == stage.name }),
        planned.fault == nil
      else { continue }
      questions.append(Question(planned, index, asked: ask(planned, number: index, in: folder)))
    }
    // Start all plugins before waiting for the first answer.
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

/// A plugin that was sent options.
private struct Question {
  let stage: StagePlan.Stage
  /// The stage's index in the configuration.
  let index: Int
  private let asked: Result<WorkerSession?, PluginFailure>

  /// The time limit of an answer.
  private static let patience = TimeSpan(milliseconds: 30_000)

  init(
    _ stage: StagePlan.Stage, _ index: Int, asked: Result<WorkerSession?, PluginFailure>
  ) {
    self.stage = stage
    self.index = index
    self.asked = asked
  }

  /// Why the plugin refuses its options; `nil` if it accepts them.
  func refusal() -> String? {
    let session: WorkerSession?
    do throws(PluginFailure) { session = try asked.get() } catch { return error.reason }
    guard let session else { return nil }
    // Clean-up: the folder of all trials is removed in any case.
    defer { try? session.end() }
    var lastLog = ""
    while let event = session.next(within: Self.patience) {
      switch event {
      case .message(.created): return nil
      case .message(.failed(let failure)): return failure.kept.reason
      case .log(let line), .message(.log(_, let line)): lastLog = line
      case .malformed(let what): return "It gave an answer \(what)."
      case .ended(let how):
        return "It ended \(how)." + (lastLog.isEmpty ? "" : " It last logged “\(lastLog)”.")
      case .message: continue
      }
    }
    return "It did not answer in time."
  }
}
