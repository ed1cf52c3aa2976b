import PipelinePlugin

/// A job that is cancelled ends, whatever comes of it, and the next one is not cancelled.
struct CancellationCheck: PluginCheck {
  let name = "cancelling"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    // The largest takes longest, so that there is something to cancel.
    guard let sample = bench.accepted.max(by: { $0.bytes.count < $1.bytes.count }) else {
      return .skipped("there is no file that it accepts")
    }
    let plugin = try bench.startReady()
    let expected = try plugin.process(sample)
    let request = try plugin.prepare(sample)
    plugin.begin(request)
    plugin.cancel(request.job)
    let start = ContinuousClock().now
    _ = try plugin.finish(request)
    let time = (ContinuousClock().now - start) / Duration.milliseconds(1)
    // One that names a job that is done already means nothing.
    plugin.cancel(request.job)
    try plugin.clear()
    guard try plugin.process(sample).result == expected.result else {
      throw CheckFailure(
        "After a cancelled job the next one had another result.",
        advice: "Forget that a job was cancelled when it ends, and heed only a “cancel” that "
          + "names the job under way.")
    }
    return .passed("the job ended after \(Int(time)) ms")
  }
}
