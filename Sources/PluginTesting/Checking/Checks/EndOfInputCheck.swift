import PipelinePlugin

/// It exits when its standard input ends.
struct EndOfInputCheck: PluginCheck {
  let name = "end of input"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    try bench.startReady().end()
    guard let sample = bench.accepted.max(by: { $0.bytes.count < $1.bytes.count }) else {
      return .passed("ended")
    }
    let plugin = try bench.startReady()
    plugin.begin(try plugin.prepare(sample))
    try plugin.end()
    return .passed("ended, even in the middle of a job")
  }
}
