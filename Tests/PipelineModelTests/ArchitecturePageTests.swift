import Foundation
import Testing

/// Reads the pages for newcomers, and the sources that they speak of, as text.
@Suite("The pages for newcomers", .timeLimit(.minutes(1)))
struct ArchitecturePageTests {
  /// The package's folder, three above this file.
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let page = "docs/architecture.md"
  private static let pages = [page, "CONTRIBUTING.md"]

  /// Names that the pages use and that are not the project's own.
  private static let others: Set = ["Mutex", "Makefile", "Package", "String", "Utils", "Helpers"]

  private func text(_ path: String) throws -> String {
    try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
  }

  /// The paths of all files in some folders, from the package's folder on.
  private func files(in folders: [String], ending: String = ".swift") -> [String] {
    folders.flatMap { folder in
      let paths = FileManager.default.enumerator(
        atPath: Self.root.appending(path: folder).path)?.compactMap { $0 as? String }
      return (paths ?? []).filter { $0.hasSuffix(ending) }.map { "\(folder)/\($0)" }
    }
  }

  /// What stands between backticks in a page, but for blocks.
  private func code(in page: String) throws -> Set<String> {
    let prose = try text(page).split(separator: "```", omittingEmptySubsequences: false)
      .enumerated().filter { $0.offset % 2 == 0 }.map(\.element).joined()
    return Set(prose.matches(of: /`([^`\n]+)`/).map { String($0.output.1) })
  }

  /// The part of a page below a heading.
  private func section(_ heading: String, of page: String) throws -> Substring {
    let text = try text(page)
    let start = try #require(text.range(of: "\n## \(heading)\n"), "\(heading)").upperBound
    return text[start..<(text[start...].range(of: "\n## ")?.lowerBound ?? text.endIndex)]
  }

  /// The name of the type that a source file is named for: `Engine` of `Engine+Jobs.swift`.
  private func mainType(of path: String) -> String {
    let name = path.split(separator: "/").last ?? ""
    return String(name.prefix { $0 != "+" && $0 != "." })
  }

  @Test("Every file that they name is there", arguments: pages)
  func paths(page: String) throws {
    let folders = ["Sources", "Plugins", "Tests", "docs", "Packaging", "SDK", "Benchmarks", ".ci"]
    let named = try code(in: page).filter { path in
      folders.contains { path.hasPrefix("\($0)/") } && !path.contains(" ")
    }
    let folder = Self.root.appending(path: page).deletingLastPathComponent()
    let links = try text(page).matches(of: /\]\(([^)#:]+)/).map {
      folder.appending(path: String($0.output.1))
    }
    #expect(links.count > 3)
    for place in named.filter({ $0 != "Plugins/NAME" }).map({ Self.root.appending(path: $0) })
      + links
    {
      #expect(FileManager.default.fileExists(atPath: place.path), "\(place.path)")
    }
  }

  @Test("Every type that they name is there", arguments: pages)
  func types(page: String) throws {
    let sources = files(in: ["Sources", "Plugins", "Decoders", "Tests"])
    var known = Set(sources.map(mainType)).union(Self.others)
    known.formUnion(sources.flatMap { $0.split(separator: "/").map(String.init) })
    known.formUnion(
      try FileManager.default.contentsOfDirectory(
        atPath: Self.root.appending(path: "Sources").path))
    let named = try code(in: page).compactMap { $0.wholeMatch(of: /([A-Z]\w*[a-z]\w*)(\.\w+)?/) }
      .map { String($0.output.1) }
    try #require(named.count > 20)
    known.formUnion(try text("Package.swift").matches(of: /"(\w+)"/).map { String($0.output.1) })
    let missing = Set(named).subtracting(known)
    guard !missing.isEmpty else { return }
    // Few: most types have a file of their own.
    let declared = try sources.map(text).joined(separator: "\n")
    for name in missing.sorted() {
      let isThere = ["class", "struct", "enum", "protocol"].contains { kind in
        [":", " {", "<"].contains { declared.contains("\(kind) \(name)\($0)") }
      }
      #expect(isThere, "\(name)")
    }
  }

  @Test("Every target has its sentence")
  func targets() throws {
    let table = try section("Targets", of: Self.page)
    let shown = try text("docs/architecture.svg").matches(of: /<g id="([^"]+)"/).map(\.output.1)
    try #require(!shown.isEmpty)
    for target in shown { #expect(table.contains("`\(target)`"), "\(target)") }
  }

  @Test("Every queue, and every type that has a lock or a thread, is in the tables")
  func queues() throws {
    let tables = try section("Queues, threads and locks", of: Self.page)
    var queues = 0
    var locks = 0
    for path in files(in: ["Sources", "Plugins", "Decoders"]) {
      let text = try text(path)
      for match in text.matches(of: /DispatchQueue\(\s*label: "([^"\\]+)/) {
        queues += 1
        #expect(tables.contains("`\(match.output.1)`"), "\(match.output.1) in \(path)")
      }
      let isOfInterest = ["= Mutex", ": Mutex<", "DedicatedThread.start", "PollingThread("].contains
      {
        text.contains($0)
      }
      guard isOfInterest else { continue }
      locks += 1
      #expect(tables.contains("`\(mainType(of: path))`"), "\(path)")
    }
    #expect(queues > 8 && locks > 35)
  }

  @Test("The glossary has at most 25 words, each with a meaning")
  func glossary() throws {
    let rows = try section("Words", of: Self.page).split(separator: "\n")
      .filter { $0.hasPrefix("| ") }.dropFirst(2)
    #expect((10...25).contains(rows.count))
    #expect(rows.allSatisfy { $0.contains(/^\| [a-z ]+ \| \S.* \|$/) })
  }

  @Test("The tests of `make unit` start neither the program nor a worker")
  func unit() throws {
    let script = try text("Tests/unit")
    let names = try #require(script.firstMatch(of: /\ntargets='([\w|]+)'/)).output.1
    let skipped = try #require(script.firstMatch(of: /\nworkers='([\w|]+)'/)).output.1
    let suites = Set(skipped.split(separator: "|").map(String.init))
    let targets = names.split(separator: "|").map { "Tests/\($0)Tests" }
    var starters: Set<String> = []
    for path in files(in: targets) where !path.contains("/Support/") {
      // This file names them only.
      guard mainType(of: path) != "ArchitecturePageTests" else { continue }
      let text = try text(path)
      guard ["BuiltProgram", "ShellPlugin"].contains(where: text.contains) else { continue }
      starters.insert(mainType(of: path))
    }
    #expect(starters == suites)
  }
}
