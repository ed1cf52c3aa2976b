import Fixtures
import Foundation
import Hashing
import PipelineModel
import Testing

/// Strikes the same export again and again, of a library that is made once.
final class ExportBench {
  /// A name that is not UTF-8 and has a line break.
  static let raw = BytePath(bytes: Array("caf".utf8) + [0xE9, 0x0A] + Array(".txt".utf8))

  static let stages: JSONValue = [
    ["name": "identify", "plugin": "identify", "isolation": "none"]
  ]

  let workspace: Workspace
  /// How many calls an export without a fault makes.
  let calls: Int
  private let expected: [BytePath]
  private let shimFolder: TemporaryFolder
  private let shim: PreloadShim

  private static let export: [BytePath] = [
    "export", "--to", "out", "--layout", "{folder|top}/{name}", "--sidecars",
  ]

  /// Puts back a list with a line to be replaced, and a sidecar of an earlier export.
  private static let begin = """
    rm -rf out; mkdir -p out/top; printf '%064d  top/b.txt\\n' 0 > out/SHA256SUMS
    cp earlier/b.txt.xmp out/top/b.txt.xmp; (cd out; sha256sum top/b.txt.xmp >> SHA256SUMS)
    """

  /// Files of two folders, two of which have the same name, one is not UTF-8.
  static func library(
    stages: JSONValue = stages, in parent: BytePath? = nil
  ) throws -> Workspace {
    let workspace = try Workspace(stages: stages, in: parent)
    for folder in ["one", "two"] {
      try workspace.makeFolder(workspace.inbox.appending(folder))
      try workspace.put("a in \(folder)", as: BytePath("\(folder)/a.txt"))
    }
    try workspace.put("b", as: "b.txt")
    try workspace.put("raw", as: Self.raw)
    try Unprivileged.shell("TZ=UTC touch -d '2001-02-03 04:05:06.789' inbox/b.txt", in: workspace)
    try workspace.json("run")
    return workspace
  }

  /// The files of an export besides its list, after `sha256sum` agreed with all of them.
  static func exported(_ workspace: Workspace, _ folder: BytePath = "out") throws -> [BytePath] {
    let files = try workspace.files(below: folder).filter { $0 != "SHA256SUMS" }
    if files.isEmpty { return [] }
    try Unprivileged.shell("cd '\(folder)' && sha256sum --check --strict SHA256SUMS", in: workspace)
    let list = try workspace.read(folder.appending("SHA256SUMS"))
    #expect(list.count { $0 == UInt8(ascii: "\n") } == files.count)
    return files
  }

  /// More than a group of files, some with one name.
  init() throws {
    // In memory no time is spent on flushing, and what a kill leaves is the same: the kernel goes on.
    workspace = try Self.library(in: FaultSelection.isFull ? "/dev/shm" : nil)
    for index in 0..<70 { try workspace.put("text \(index)", as: BytePath("\(index % 65).txt")) }
    for index in 0..<5 {
      try workspace.json("run")
      try workspace.put("more \(index)", as: BytePath("\(index).txt"))
    }
    try workspace.json("run")
    for words: [BytePath] in [
      ["tag", "name:b", "+earlier"], ["export", "--to", "earlier", "--sidecars", "name:b"],
      ["tag", "name:b", "-earlier"],
      ["tag", "size>0", "-name:7", "+said", "--title", "A <b>", "--yes"],
    ] { try #require(workspace.program.run(words).exitCode == 0, "\(words)") }
    try workspace.json(
      "export", "--to", "before", "--layout", "{folder|top}/{name}", "--sidecars")
    shimFolder = try TemporaryFolder()
    shim = try PreloadShim(in: shimFolder.path)
    let clean = workspace.program.environment
    let count = shimFolder.appending("count")
    try Unprivileged.shell(Self.begin, in: workspace)
    workspace.program.environment.merge(shim.counting(into: count)) { $1 }
    #expect(try workspace.program.run(Self.export).exitCode == 0)
    workspace.program.environment = clean
    calls = try #require(Int(String(decoding: try workspace.read(count), as: UTF8.self)))
    expected = try Self.exported(workspace)
    #expect(try expected == Self.exported(workspace, "before"))
    #expect(expected.count > 70)
  }

  /// Strikes an export; what is listed is there then, and the same export again makes all good.
  func strike(_ strike: PreloadShim.Strike, at call: Int) throws {
    let comment = Comment(rawValue: "\(strike) at \(call)")
    let clean = workspace.program.environment
    try Unprivileged.shell(Self.begin, in: workspace)
    workspace.program.environment.merge(shim.striking(strike, at: call)) { $1 }
    let struck = try workspace.program.run(Self.export)
    workspace.program.environment = clean
    if strike == .kill {
      #expect(struck.signal == 9, comment)
    } else {
      #expect(struck.signal == 9 || [0, 1, 3].contains(struck.exitCode), comment)
    }
    try expectTrueList(comment)
    let again = try workspace.program.run(Self.export)
    #expect(again.exitCode == 0, "\(comment.rawValue): \(again.errors)")
    #expect(try Self.exported(workspace) == expected, comment)
    #expect(!workspace.exists("out/.pipeline-export"), comment)
  }

  /// Expects that what is listed is there and whole, but for the line that was wrong before.
  private func expectTrueList(_ comment: Comment) throws {
    guard workspace.exists("out/SHA256SUMS") else { return }
    var lines = try workspace.read("out/SHA256SUMS").split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // Empty after the last newline, otherwise half a line.
    lines.removeLast()
    let sidecar = "top/b.txt.xmp"
    let (replaced, listed) = (
      lines.filter { $0.ends(in: sidecar) },
      lines.filter { !$0.ends(in: sidecar) && !$0.starts(with: Array("0000".utf8)) }
    )
    // Of a sidecar that is replaced, the old or the new line is true.
    let digest = SHA256.digest(of: try workspace.read(BytePath("out/\(sidecar)"))).hex
    #expect(replaced.contains { $0.starts(with: Array(digest.utf8)) }, comment)
    if listed.isEmpty { return }
    try workspace.write(listed.flatMap { Array($0) + [UInt8(ascii: "\n")] }, to: "listed")
    #expect(throws: Never.self, comment) {
      try Unprivileged.shell("cd out; sha256sum --check --strict --quiet ../listed", in: workspace)
    }
  }
}

extension ArraySlice<UInt8> {
  /// Whether a line of a list of checksums is about a path.
  fileprivate func ends(in path: String) -> Bool {
    suffix(path.utf8.count + 1).elementsEqual(" \(path)".utf8)
  }
}
