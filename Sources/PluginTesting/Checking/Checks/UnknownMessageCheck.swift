import PipelinePlugin

/// Messages of later versions are answered, and change nothing.
struct UnknownMessageCheck: PluginCheck {
  let name = "unknown message"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    let plugin = try bench.startReady()
    try plugin.sendUnknown()
    guard let sample = bench.accepted.first else { return .passed("answered “unsupported”") }
    _ = try plugin.process(sample)
    return .passed("answered “unsupported”, and the next job was done")
  }
}
