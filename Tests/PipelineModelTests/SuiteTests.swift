import Foundation
import Testing

/// Reads the tests as text: a suite is found by its name.
@Suite("The tests", .timeLimit(.minutes(1)))
struct SuiteTests {
  /// The folder of all tests, two above this file.
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent()

  /// A file that has suites.
  private struct File {
    let name: String
    let types: [String]
    let sentences: [String]
  }

  private func files() throws -> [File] {
    let paths =
      FileManager.default.enumerator(atPath: Self.folder.path)?
      .compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") } ?? []
    return try paths.compactMap { path in
      let place = Self.folder.appending(path: path)
      let text = try String(contentsOf: place, encoding: .utf8)
      let sentences = text.matches(of: /\n *@Suite\(\s*"([^"]+)"/).map { String($0.output.1) }
      guard !sentences.isEmpty else { return nil }
      let types = text.matches(of: /\n *(?:final )?(?:struct|class|enum) (\w+Tests)\b/)
      return File(
        name: String(place.deletingPathExtension().lastPathComponent),
        types: types.map { String($0.output.1) }, sentences: sentences)
    }
  }

  @Test("Each file has one suite, which it is named for")
  func namedForFile() throws {
    let files = try files()
    try #require(files.count > 150)
    for file in files {
      #expect(file.types == [file.name] && file.sentences.count == 1, "\(file.name)")
    }
  }

  @Test("No two suites have one name or one sentence, and none has a target's name")
  func unique() throws {
    let files = try files()
    let targets = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
    let names = files.flatMap(\.types) + targets
    let sentences = files.flatMap(\.sentences)
    for all in [names, sentences] {
      let counts = Dictionary(all.map { ($0, 1) }, uniquingKeysWith: +)
      #expect(counts.filter { $0.value > 1 }.isEmpty)
    }
  }
}
