import Fixtures
import Foundation
import PipelineModel
import Testing

/// Completions, by the shells themselves, and manual pages, by groff.
@Suite("Completions and manual pages", .timeLimit(.minutes(2)))
struct ManualTests {
  private let folder: TemporaryFolder
  private let program: BuiltProgram

  init() throws {
    folder = try TemporaryFolder()
    program = BuiltProgram(in: folder.path)
    for shell in ["bash", "zsh", "fish"] {
      let outcome = try program.run(["completions", BytePath(shell)])
      try #require(outcome.exitCode == 0)
      try Data(outcome.outputBytes).write(to: url(shell == "zsh" ? "_pipeline" : shell))
    }
    for name in ["one.json", "two words.json"] { try Data().write(to: url(name)) }
    try FileManager.default.createDirectory(at: url("sub"), withIntermediateDirectories: true)
  }

  private func url(_ name: String) -> URL {
    URL(fileURLWithPath: folder.path.appending(name).description)
  }

  /// Runs a shell; the program is in its path.
  private func run(_ words: [String]) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path.description)
    process.environment = [
      "PATH": "\(BuiltProgram.path.parent):/usr/bin:/bin", "HOME": folder.path.description,
      "LANG": "C.UTF-8", "TERM": "dumb",
    ]
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }

  /// Command lines, the last word of which is to be completed, with what it may become.
  private static let lines: [(words: [String], replies: Set<String>)] = [
    (["co"], ["completions", "config", "count"]), (["--verb"], ["--verbose"]),
    (["list", "--form"], ["--format"]), (["list", "--format", "t"], ["table", "tsv"]),
    (["list", "cam"], ["camera:"]), (["config", ""], ["check", "show", "schema"]),
    (["trash", "re"], ["restore"]), (["help", "expo"], ["export"]),
    (["export", "--transfer", "ref"], ["reflink"]), (["--config", "o"], ["one.json"]),
    (["--config", "one.json", "wat"], ["watch"]),
    (["--config", "one.json", "get", "--rend"], ["--rendition"]),
    (["run", "--wa"], ["--wait"]), (["status", "--wa"], []), (["list", "is:tr"], ["is:trashed"]),
    (["search", "sa"], ["save"]), (["search", "save", "x", "len"], ["lens:"]),
    (["plugins", "test", "o"], ["one.json"]), (["config", "check", "sh"], []),
    (["help", "export", ""], []), (["export", "--to", "s"], ["sub"]),
    (["export", "--to", "list", "--form"], []), (["import", "t"], ["two words.json"]),
  ]

  @Test("bash completes verbs, options, values and files", arguments: lines)
  func bash(words: [String], replies: Set<String>) throws {
    let line = (["pipeline"] + words).joined(separator: " ")
    let outcome = try run([
      "bash", "--norc", "-c",
      """
      compopt() { :; }; source ./bash
      COMP_LINE='\(line)'; COMP_POINT=${#COMP_LINE}; _pipeline
      printf '%s\\n' "${COMPREPLY[@]}"
      """,
    ])
    #expect(outcome.status == 0, "\(outcome.output)")
    // Bash replaces what follows the last colon only.
    let part = words.last?.split(separator: ":", omittingEmptySubsequences: false).dropLast()
    let cut = part.map { $0.isEmpty ? "" : $0.joined(separator: ":") + ":" } ?? ""
    #expect(
      Set(outcome.output.split(separator: "\n").map { cut + $0 }) == replies, "\(outcome.output)")
  }

  @Test(
    "bash completes values behind an equals sign, and names with spaces",
    arguments: [
      ("list --format=t", ["table", "tsv"]), ("list --format=table --sor", ["--sort"]),
      ("--config=one.json li", ["list"]), (#"import two\ w"#, ["two words.json"]),
    ] as [(String, Set<String>)])
  func bashWords(line: String, replies: Set<String>) throws {
    let outcome = try run([
      "bash", "--norc", "-c",
      """
      compopt() { :; }; source ./bash
      COMP_LINE='pipeline \(line)'; COMP_POINT=${#COMP_LINE}; _pipeline
      printf '%s\\n' "${COMPREPLY[@]}"
      """,
    ])
    #expect(Set(outcome.output.split(separator: "\n").map(String.init)) == replies)
  }

  @Test("fish completes verbs, options, values and files", arguments: lines)
  func fish(words: [String], replies: Set<String>) throws {
    let line = (["pipeline"] + words).joined(separator: " ")
    let outcome = try run(["fish", "--no-config", "-c", "source ./fish; complete -C '\(line)'"])
    #expect(outcome.status == 0, "\(outcome.output)")
    let found = outcome.output.split(separator: "\n").map {
      String($0.prefix { $0 != "\t" })
    }
    let plain = found.map { $0.replacing("\\ ", with: " ").replacing("/", with: "") }
    #expect(Set(plain) == replies, "\(outcome.output)")
  }

  @Test("zsh completes verbs, options, values and files", arguments: lines)
  func zsh(words: [String], replies: Set<String>) throws {
    let line = (["pipeline"] + words).joined(separator: " ")
    // A terminal of its own, in which each reply is printed instead of shown.
    let outcome = try run([
      "zsh", "-f", "-c",
      #"""
      zmodload zsh/zpty
      zpty shell zsh -f -i
      zpty -w shell 'PS1="<pro""mpt>" PS2= RPS1=; unsetopt zle_bracketed_paste 2>/dev/null; fpath=($PWD $fpath)
      autoload -Uz compinit; compinit -u -D
      compadd() {
        local -a found; local -A o
        if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
        builtin compadd -O found "$@"
        local one; for one in $found; do print -r -- "REPLY<$one>"; done
      }
      bindkey "^I" complete-word; print REA""DY'
      # Its prompt after that tells that it reads keys: a line that came before would be the kernel's.
      zpty -r shell seen '*READY*<prompt>*'
      zpty -w -n shell $'\#(line)\t\C-U print -r DO''NE\n'
      zpty -r shell seen '*DONE*'
      print -r -- $seen
      """#,
    ])
    let found = outcome.output.matches(of: /REPLY<([^>]*)>/).map {
      String($0.output.1).replacing("\\ ", with: " ")
    }
    #expect(Set(found) == replies, "\(outcome.output)")
  }

  @Test("Every verb has a manual page that groff formats without a warning")
  func pages() throws {
    try FileManager.default.createDirectory(at: url("man"), withIntermediateDirectories: true)
    try #require(try program.run(["help", "--man-pages", "man"]).exitCode == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: url("man").path)
    #expect(names.contains("pipeline.1") && names.contains("pipeline-query.7"))
    let list = try program.run(["help"]).output.split(separator: "\n\n")
      .first { $0.hasPrefix("Verbs:") }
    let verbs = try #require(list).matches(of: #/(?m)^  ([a-z-]+)  /#)
      .map { String($0.output.1) }
    #expect(verbs.count > 20)
    for verb in verbs { #expect(names.contains("pipeline-\(verb).1"), "\(verb)") }
    for name in names {
      let outcome = try run(["groff", "-man", "-Tutf8", "-ww", "-P-cbou", "man/\(name)"])
      #expect(outcome.status == 0 && !outcome.output.contains(": warning"), "\(outcome.output)")
      #expect(outcome.output.contains("NAME\n"), "\(name)")
    }
    let page = try run(["groff", "-man", "-Tutf8", "-P-cbou", "man/pipeline-list.1"]).output
    #expect(page.contains("--group-by FIELD") && page.contains("pipeline list camera:fuji"))
  }
}
