import Glibc
import PipelinePlugin
import Testing

@Suite("Failures of plugins", .timeLimit(.minutes(1)))
struct PluginFailureTests {
  @Test("To be refused memory is for good only where memory is limited")
  func outOfMemory() throws {
    let data = __rlimit_resource_t(RLIMIT_DATA.rawValue)
    var before = rlimit()
    try #require(getrlimit(data, &before) == 0)
    defer { setrlimit(data, &before) }
    // So high that nothing in this process notices it.
    for (limit, wanted) in [
      (rlim_t.max, PluginFailure.Class.transient), (rlim_t(1) << 60, .permanent),
    ] {
      var limits = rlimit(rlim_cur: limit, rlim_max: before.rlim_max)
      try #require(setrlimit(data, &limits) == 0)
      let failure = PluginFailure.outOfMemory("It needs more.")
      #expect(failure.class == wanted)
      #expect(failure.reason.contains("limits.memory") == (wanted == .permanent))
    }
  }
}
