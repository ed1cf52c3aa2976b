/// It can be set up.
struct CreationCheck: PluginCheck {
  let name = "set-up"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    _ = try bench.startReady()
    // As many as a stage has lanes, side by side.
    let lanes = [try bench.startReady(), try bench.startReady()]
    return .passed("with these options and the defaults, \(lanes.count) at a time")
  }
}
