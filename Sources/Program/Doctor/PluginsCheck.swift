import Configuration
import Engine
import LibrarySession
import PipelinePlugin
import PluginHost

/// Checks whether each plugin found and each stage can be used.
struct PluginsCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    do throws(PluginFailure) {
      let plugins = try ListedPlugin.all(site.configuration)
      // Start all queries before waiting for the first answer.
      let asked = plugins.map { $0.ask() }
      let findings = zip(plugins, asked).map { finding($0, $1, site) }
      return findings + (site.setup.map { [stages($0, site)] } ?? [])
    } catch {
      return [
        Finding(
          "plugins", .failed, error.reason, advice: "Correct \"plugins\" in the configuration.")
      ]
    }
  }

  private func finding(
    _ plugin: ListedPlugin, _ answer: Result<ManifestQuery, PluginFailure>, _ site: DoctorSite
  ) -> Finding {
    let name = "plugin \(plugin.id)"
    do throws(PluginFailure) {
      let manifest = try answer.get().manifest()
      let runtime = manifest.runtime.isEmpty ? "" : ", with \(manifest.runtime)"
      let permissions = plugin.permissions.map { ", may \($0)" }.joined()
      return Finding(
        name, .ok,
        "Version \(manifest.version)\(runtime), runs \(plugin.placeOfWork)\(permissions).")
    } catch {
      return unusable(name, error.reason, plugin, site)
    }
  }

  private func unusable(
    _ name: String, _ reason: String, _ plugin: ListedPlugin, _ site: DoctorSite
  ) -> Finding {
    let users = site.configuration?.stages.filter { $0.plugin == plugin.id }.map(\.name) ?? []
    if !users.isEmpty {
      return Finding(
        name, .failed, reason,
        advice: "The jobs of \(users.count == 1 ? "the stage" : "the stages") "
          + "\(users.joined(separator: ", ")) \(site.isWorkplace ? "are left to others" : "wait"): correct the plugin, or remove what uses it."
      )
    }
    if plugin.id == StagePlan.identifier {
      return Finding(
        name, .failed, reason,
        advice: "Every stage that works on pictures needs it: reinstall the program.")
    }
    return Finding(
      name, .warning, reason,
      advice: "No stage uses it; `pipeline plugins test \(plugin.place)` reports details.")
  }

  /// Makes the same checks of plugins, options and needs as `run`.
  private func stages(_ setup: LibrarySetup, _ site: DoctorSite) -> Finding {
    do {
      let plan = try site.isWorkplace ? setup.planBeside() : setup.plan()
      let faults = plan.stages.compactMap { StageFault($0, in: setup.configuration) }
      if !faults.isEmpty {
        return Finding(
          "stages", .failed, faults.map(\.message).joined(separator: " "),
          advice: site.isWorkplace
            ? "Their jobs are left to others." : "Files are imported anyway, but their jobs wait.")
      }
      let names = plan.stages.map(\.name).joined(separator: ", ")
      return Finding("stages", .ok, names.isEmpty ? "There are none." : "Can run: \(names).")
    } catch {
      return Finding(
        "stages", .failed, Failure(error).text,
        advice: site.isWorkplace ? nil : "`pipeline config check` repeats this check alone.")
    }
  }
}
