import PipelinePlugin

/// It ends when its standard input does.
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
    return .passed("ended, in the middle of a job as well")
  }
}
