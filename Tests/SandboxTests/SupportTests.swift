import Glibc
import PipelineModel
import Sandbox
import Testing

@Suite("What the kernel has", .timeLimit(.minutes(1)))
struct SupportTests {
  @Test("A newer Landlock misses less, and one of version 6 nothing")
  func missing() {
    let lists = (0...7).map { SandboxSupport(landlockABI: $0, seccomp: true).missing }
    for (older, newer) in zip(lists, lists.dropFirst()) { #expect(older.count >= newer.count) }
    #expect(lists[0].count == 6)
    #expect(lists[6].isEmpty && lists[7].isEmpty)
    let hiding = SandboxSupport(landlockABI: 0, seccomp: true, hidesOthers: true).missing
    #expect(hiding == (geteuid() == 0 ? lists[0] : Array(lists[0].dropFirst())))
    #expect(SandboxSupport(landlockABI: 7, seccomp: false).missing.count == 1)
  }
}
