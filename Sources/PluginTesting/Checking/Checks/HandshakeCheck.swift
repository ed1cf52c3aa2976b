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
