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
