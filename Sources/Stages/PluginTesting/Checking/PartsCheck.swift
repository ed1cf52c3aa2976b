import Files
import PipelineModel
import PipelinePlugin

/// A plugin whose renditions are asked for one by one makes each as it does among the others.
struct PartsCheck: PluginCheck {
  let name = "parts"

  private static let mostSamples = 4
  /// A job for each, twice if the plugin gets the others.
  private static let mostParts = 4

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    guard let parts = bench.manifest?.parts else {
      return .skipped("its manifest has no “parts”")
    }
    let elements = bench.options[parts.option]?.array ?? []
    let names = Set(elements.compactMap { $0["name"]?.string })
    guard names.count == elements.count else {
      return .skipped("without a name of its own for each, nothing is kept")
    }
    let plugin = try bench.startReady()
    var count = 0
    var left = Self.mostSamples
    for sample in bench.accepted where left > 0 {
      let whole = try makeAll(sample, plugin, bench, copies: parts.kept == true)
      if let other = whole.first(where: { !names.contains($0.name) }) {
        throw CheckFailure(
          "For \(sample.name) it made “\(other.name)”, which is not in the list “\(parts.option)”.",
          advice: "Make only renditions that the list names: others go when the list changes.")
      }
      guard whole.count > 1 else { continue }
      left -= 1
      for wanted in whole.prefix(Self.mostParts) {
        try check(wanted, alone(wanted, beside: [], sample, plugin), sample)
        count += 1
        guard parts.kept == true else { continue }
        let others = whole.filter { $0.name != wanted.name && !$0.path.isEmpty }
        try check(wanted, alone(wanted, beside: others, sample, plugin), sample)
      }
    }
    guard count > 0 else {
      return .skipped("no file gave two renditions; more may by --options or --files")
    }
    return .passed("\(counted(count, "rendition")) made alone")
  }

  /// Makes all renditions of a file.
  ///
  /// - Parameter copies: whether to copy the pictures among them, so that they can be given back as
  ///   kept ones; others have no path.
  private func makeAll(
    _ sample: CheckSample, _ plugin: CheckedPlugin, _ bench: CheckBench, copies: Bool
  ) throws(CheckFailure) -> [PluginRequest.Kept] {
    let request = try plugin.prepare(sample)
    plugin.begin(request)
    guard case .done(_, let made) = try plugin.finish(request).result else {
      try plugin.clear()
      return []
    }
    let all = try made.map { rendition throws(CheckFailure) in
      var kept = PluginRequest.Kept(
        name: rendition.name, mediaType: rendition.mediaType, width: rendition.width,
        height: rendition.height, from: rendition.from, path: "")
      if copies, rendition.mediaType.hasPrefix("image/") {
        kept.path = try CheckFailure.unless(
          try bench.write(
            plugin.outputBytes(rendition.path), as: BytePath("kept-\(rendition.name)")
          ).description,
          "Its rendition “\(rendition.name)” can't be copied.", advice: "Free some space.")
      }
      return kept
    }
    try plugin.clear()
    return all
  }

  private func alone(
    _ wanted: PluginRequest.Kept, beside kept: [PluginRequest.Kept], _ sample: CheckSample,
    _ plugin: CheckedPlugin
  ) throws(CheckFailure) -> PluginResult {
    let request = try plugin.prepare(sample, wanted: [wanted.name], kept: kept)
    plugin.begin(request)
    let job = try plugin.finish(request)
    try plugin.clear()
    return job.result
  }

  private func check(
    _ wanted: PluginRequest.Kept, _ result: PluginResult, _ sample: CheckSample
  ) throws(CheckFailure) {
    func failure(_ what: String) -> CheckFailure {
      CheckFailure(
        "Asked for “\(wanted.name)” alone for \(sample.name), it \(what).",
        advice: "Make what the request's “wanted” names as if all of the list were wanted. "
          + "See “Renditions that are kept” in docs/plugins.md.")
    }
    switch result {
    case .skipped(let reason): throw failure("skipped the file: \(reason)")
    case .failed(let reason): throw failure("failed: \(reason.reason)")
    case .done(_, let made):
      guard let found = made.first(where: { $0.name == wanted.name }) else {
        throw failure("did not make it")
      }
      guard found.mediaType == wanted.mediaType, found.width == wanted.width,
        found.height == wanted.height
      else {
        throw failure(
          "made \(found.mediaType) of \(found.width) × \(found.height) pixels, and among the others "
            + "\(wanted.mediaType) of \(wanted.width) × \(wanted.height)")
      }
    }
  }
}
