import PipelinePlugin

/// A cancelled job ends with any result, and the next job is not cancelled.
struct CancellationCheck: PluginCheck {
  let name = "cancelling"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    // The largest sample probably takes longest and is still running when cancelled.
    guard let sample = bench.accepted.max(by: { $0.bytes.count < $1.bytes.count }) else {
      return .skipped("it accepts none of the files")
    }
    let plugin = try bench.startReady()
    let expected = try plugin.process(sample)
    let request = try plugin.prepare(sample)
    plugin.begin(request)
    plugin.cancel(request.job)
    let start = ContinuousClock().now
    _ = try plugin.finish(request)
    let time = (ContinuousClock().now - start) / Duration.milliseconds(1)
    // Cancelling a finished job must have no effect.
    plugin.cancel(request.job)
    try plugin.clear()
    guard try plugin.process(sample).result == expected.result else {
      throw CheckFailure(
        "After a cancelled job the next one had a different result.",
        advice: "Forget the cancellation when the job ends, and ignore a “cancel” that does not "
          + "name the current job.")
    }
    return .passed("the job ended after \(Int(time)) ms")
  }
}
