import Catalog
import Configuration
import Engine
import Ingest
import PipelineModel
import PipelinePlugin
import PluginHost
import Records
import Renditions

/// The stages that a process works on beside the one with the library's lock: those of its configuration that are the
/// library's.
final class OwnStages {
  private let plan: StagePlan
  private let catalog: Catalog
  private let workplace: Workplace
  private let report: RunReport
  /// Why stages are not worked on here, as last told.
  private var refusals: [String: String] = [:]
  /// What others were told.
  private var told: [String: String] = [:]

  init(_ plan: StagePlan, catalog: Catalog, workplace: Workplace, report: RunReport) {
    self.plan = plan
    self.catalog = catalog
    self.workplace = workplace
    self.report = report
  }

  /// The stages whose jobs this process may do now.
  func workable(_ engine: Engine) -> Set<String> {
    Set(plan.stages.map(\.name)).subtracting(refusals.keys).subtracting(engine.heldStages)
  }

  /// Finds the stages that are the library's, and tells of others.
  func compare() throws {
    var now: [String: String] = [:]
    let own = workplace.renditions
    let place = NotedPlaces(try catalog.setting(NotedPlaces.setting)).current
    for stage in plan.stages {
      if place != own.place {
        now[stage.name] =
          "Renditions go to “\(place.printable)” in the library, and to “\(own.place.printable)” by the configuration "
          + "here: correct \"renditions\"."
      } else if stage.configuration.storage == .file, !workplace.isOwn, !own.isOnServer {
        now[stage.name] =
          "Its renditions are files in the library's folder (\"storage\": \"file\"), which this one is not."
      }
    }
    let others = plan.stages.map(\.definition).filter { now[$0.name] == nil }
    for (stage, refusal) in try catalog.work(on: others, removesFiles: workplace.isOwn) {
      now[stage.name] = refusal
    }
    let changed = now.filter { refusals[$0.key] != $0.value }
    var all = now
    for stage in plan.stages {
      if let fault = stage.fault, all[stage.name] == nil { all[stage.name] = fault.reason }
    }
    if all != told { try catalog.tellHeldStages(all) }
    told = all
    refusals = now
    for stage in plan.stages {
      guard let reason = changed[stage.name] else { continue }
      report.held(stage: stage.name, plugin: stage.configuration.plugin, reason: reason)
    }
  }

  /// Compares once more if the library has other stages by now.
  func compareAgain() throws {
    if try catalog.hasOtherStages() { try compare() }
  }
}
