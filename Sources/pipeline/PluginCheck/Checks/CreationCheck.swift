import Configuration
import PipelineModel
import PipelinePlugin

/// It can be set up with the options, and with its defaults written out.
struct CreationCheck: PluginCheck {
  let name = "set-up"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    guard let schema = bench.manifest?.options else { return .skipped("there is no manifest") }
    let variants = [bench.options, bench.options.fillingDefaults(schema)]
    for options in variants {
      let plugin = try bench.start()
      _ = try plugin.hello()
      try plugin.create(options)
    }
    return .passed("as configured, and with all defaults written out")
  }
}
