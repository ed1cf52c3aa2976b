import PipelinePlugin

/// It answers messages of later versions and otherwise ignores them.
struct UnknownMessageCheck: PluginCheck {
  let name = "unknown message"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    let plugin = try bench.startReady()
    try plugin.sendUnknown()
    guard let sample = bench.accepted.first else { return .passed("answered “unsupported”") }
    _ = try plugin.process(sample)
    return .passed("answered “unsupported” and did the next job")
  }
}
