import PipelineModel
import PipelinePlugin
import PluginHost

/// Its manifest is valid.
struct ManifestContentCheck: PluginCheck {
  let name = "manifest"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    guard let manifest = bench.manifest else { return .skipped("there is none") }
    if let fault = ManifestCheck.fault(in: manifest) {
      throw CheckFailure(
        "Its manifest is one in which \(fault).", advice: "See “Manifest” in docs/plugins.md.")
    }
    if case .library(let path) = bench.plugin {
      let wanted = BytePath("libpipeline-\(manifest.id).so")
      guard path.lastComponent == wanted else {
        throw CheckFailure(
          "The library is named \(path.lastComponent.printable), but its id is “\(manifest.id)”.",
          advice: "Name it \(wanted.printable): the program looks for that name.")
      }
    }
    guard Set(manifest.facts).count == manifest.facts.count else {
      throw CheckFailure(
        "Its manifest names a fact twice.", advice: "Name each fact once under “facts”.")
    }
    let accepts = manifest.accepts?.joined(separator: ", ") ?? "everything"
    return .passed("“\(manifest.id)” \(manifest.version), for \(accepts)")
  }
}
