import Foundation
import Testing

/// Reads the page about reliability, and the tests that it names, as text.
@Suite("The page about reliability", .timeLimit(.minutes(1)))
struct ReliabilityPageTests {
  /// The package's folder, three above this file.
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  @Test("Every test that a row of its tables names is there")
  func names() throws {
    let page = try String(
      contentsOf: Self.root.appending(path: "docs/reliability.md"), encoding: .utf8)
    let evidence = page.split(separator: "\n").filter { $0.hasPrefix("| ") }
      .compactMap { $0.split(separator: "|").last }
    let names = Set(evidence.flatMap { $0.matches(of: /“([^”]+)”/).map { String($0.output.1) } })
    // What `Tests/cluster` does is called so.
    let wanted = names.subtracting(["the random kills"])
    #expect(wanted.count > 150)
    let folder = Self.root.appending(path: "Tests")
    let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String }
    var titles: Set<String> = []
    for path in paths ?? [] where path.hasSuffix(".swift") {
      let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
      titles.formUnion(text.matches(of: /"([^"\n]+)"/).map { String($0.output.1) })
    }
    let missing = wanted.filter { !titles.contains($0) }
    #expect(missing.isEmpty, "\(missing.sorted())")
  }
}
