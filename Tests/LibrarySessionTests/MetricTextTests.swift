import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@testable import LibrarySession

/// The text of metrics, and the file that they are written to.
@Suite("The text of metrics", .timeLimit(.minutes(1)))
struct MetricTextTests {
  @Test("Text and labels are escaped, and a metric without samples is left out")
  func text() {
    var text = MetricText()
    text.add("a_total", .counter, "One\\two\n\"", [.init(["source": "/a\\b\n\"c\"ö"], .count(7))])
    text.add("b", .gauge, "Nothing", [])
    text.add("c", .gauge, "Unknown", nil as Int?)
    text.add("d_seconds", .gauge, "Time", .measure(1_764_000_000.25))
    #expect(
      text.text == """
        # HELP a_total One\\\\two\\n"
        # TYPE a_total counter
        a_total{source="/a\\\\b\\n\\"c\\"ö"} 7
        # HELP d_seconds Time
        # TYPE d_seconds gauge
        d_seconds 1764000000.25

        """)
  }

  private func text(_ count: Int) -> MetricText {
    var text = MetricText()
    text.add("a", .gauge, "A number", count)
    return text
  }

  @Test("The file is replaced as a whole, and all may read it whatever the umask")
  func file() throws {
    let folder = try TemporaryFolder()
    let path = folder.appending("pipeline.prom")
    let file = try MetricsFile(path)
    let opened = try Descriptor.openFolder(folder.path)
    let old = umask(0o077)
    defer { umask(old) }
    try file.replace(with: text(1))
    let first = try FileSystem.status(of: path)
    #expect(first.permissions == 0o644)
    // Who reads the old one goes on reading it.
    let reader = try Descriptor.openRegular("pipeline.prom", in: opened)
    try file.replace(with: text(2))
    #expect(try String(decoding: reader.readToEnd(), as: UTF8.self).hasSuffix("\na 1\n"))
    let bytes = try opened.readFile("pipeline.prom")
    #expect(String(decoding: bytes, as: UTF8.self).hasSuffix("\na 2\n"))
    #expect(try FileSystem.status(of: path).identity.inode != first.identity.inode)
    #expect(try opened.entries().map(\.name) == ["pipeline.prom"])
  }

  @Test("A folder that is missing, or in the way, is refused at once")
  func refused() throws {
    let folder = try TemporaryFolder()
    let missing = #expect(throws: FileError.self) {
      _ = try MetricsFile(folder.appending("none/a.prom"))
    }
    #expect(missing?.code == .notFound)
    let wrong = #expect(throws: FileError.self) { _ = try MetricsFile(folder.path) }
    #expect(wrong?.code == .notRegular)
  }

  @Test("A run in which something failed, waited or was refused is no success")
  func success() {
    #expect(RunCounts.areSuccess(["imported": 3, "jobsSkipped": 1, "failed": 0]))
    for name in ["failed", "rejected", "jobsFailed", "stagesHeld", "sourcesRefused"] {
      #expect(!RunCounts.areSuccess(["imported": 3, name: 1]), "\(name)")
    }
  }
}
