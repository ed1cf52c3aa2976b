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
