import PipelinePlugin

/// It starts and says what it is.
struct HandshakeCheck: PluginCheck {
  let name = "handshake"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    let start = ContinuousClock().now
    let manifest = try bench.start().hello()
    let time = (ContinuousClock().now - start) / Duration.milliseconds(1)
    bench.manifest = manifest
    return .passed("said what it is in \(Int(time)) ms")
  }
}
