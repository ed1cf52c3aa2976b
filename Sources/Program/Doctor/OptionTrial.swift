package import Configuration
package import Engine
package import Files
import LibrarySession
import PipelineModel
import PipelinePlugin
import PluginHost
import PluginTesting

/// Checks stages' options by sending them to the plugins, as a run would.
///
/// A schema can't express all requirements of a plugin.
package struct OptionTrial {
  private let configuration: PipelineConfiguration
  private let plan: StagePlan

  package init(_ plan: StagePlan, _ configuration: PipelineConfiguration) {
    self.plan = plan
    self.configuration = configuration
  }

  /// Finds the stages whose plugin refuses its options.
  ///
  /// - Throws: `FileError` if no temporary folder can be made.
  package func problems() throws(FileError) -> [ConfigurationError] {
    let folder = try CheckFolder()
    var refusals: [(stage: StageConfiguration, index: Int, reason: () -> String?)] = []
    for (index, stage) in configuration.stages.enumerated() {
      guard let planned = plan.stages.first(where: { $0.name == stage.name }),
        planned.fault == nil
      else { continue }
      refusals.append((stage, index, ask(planned, number: index, in: folder)))
    }
    // Start all plugins before waiting for the first answer.
    return refusals.compactMap { stage, index, reason in
      reason().map { reason in
        ConfigurationError(
          code: .badValue,
          message: "The plugin “\(stage.plugin)” of the stage “\(stage.name)” can't be set up: "
            + reason,
          pointer: "/stages/\(index)/options", file: configuration.file)
      }
    }
  }

  /// Sends a plugin its options.
  ///
  /// - Returns: waits for the reason why it refuses them; `nil` if it accepts them.
  private func ask(_ stage: StagePlan.Stage, number: Int, in folder: CheckFolder) -> () -> String? {
    do {
      guard stage.configuration.isolation == .process else {
        try stage.tryOptions(work: folder.path)
        return { nil }
      }
      let program = try StagePlan.program(
        of: stage.configuration, in: configuration,
        finder: PluginFinder(configured: configuration.plugins))
      let session = try WorkerSession(
        program, named: BytePath("options-\(number)"), in: folder.path)
      session.send(.hello(protocol: HostMessage.currentProtocol, program: "pipeline"))
      session.send(.create(options: stage.options))
      return { Self.refusal(session) }
    } catch {
      let reason = Failure(error).text
      return { reason }
    }
  }

  /// The time limit of an answer.
  private static let patience = TimeSpan(milliseconds: 30_000)

  private static func refusal(_ session: WorkerSession) -> String? {
    // Clean-up: the folder of all trials is removed in any case.
    defer { try? session.end() }
    var lastLog = ""
    while let event = session.next(within: patience) {
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
