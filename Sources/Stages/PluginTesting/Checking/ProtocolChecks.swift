import PipelinePlugin

/// It starts and sends its manifest.
struct HandshakeCheck: PluginCheck {
  let name = "handshake"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    let start = ContinuousClock().now
    let manifest = try bench.start().hello()
    let time = (ContinuousClock().now - start) / Duration.milliseconds(1)
    bench.manifest = manifest
    return .passed("sent its manifest in \(Int(time)) ms")
  }
}

/// It accepts its options, in several processes at a time.
struct CreationCheck: PluginCheck {
  let name = "set-up"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    _ = try bench.startReady()
    // A stage runs several lanes concurrently.
    let instances = [try bench.startReady(), try bench.startReady()]
    return .passed("with these options and the defaults, \(instances.count) at a time")
  }
}

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

/// It wrote only messages to standard output in all previous checks.
struct StandardOutputCheck: PluginCheck {
  let name = "standard output"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    guard let first = bench.noise.first else { return .passed("only messages") }
    let more = bench.noise.count > 1 ? ", and \(bench.noise.count - 1) more such lines" : ""
    throw CheckFailure(
      "It gave an answer \(first)\(more).",
      advice: "Print to standard error, which is the log. For libraries that print, keep a copy of "
        + "descriptor 1 for the messages and redirect descriptor 1 to 2.")
  }
}
