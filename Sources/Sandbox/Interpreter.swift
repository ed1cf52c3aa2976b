import PipelineModel

/// The first line of a script. Source: execve(2), “Interpreter scripts”; env(1).
struct Interpreter: Equatable {
  /// A path, or a name to search for.
  var program: BytePath
  /// The words between the interpreter and the script.
  var arguments: [BytePath]

  /// The kernel's limit for a first line.
  private static let longest = 256

  /// Parses a first line.
  ///
  /// Like the kernel, treats everything after the interpreter as one argument. If the interpreter
  /// is `env`, splits that argument at spaces and leaves out `env` itself.
  init(line head: [UInt8], of script: BytePath) throws(SandboxError) {
    guard head.starts(with: Array("#!".utf8)) else {
      throw SandboxError(
        .program,
        "“\(script.printable)” is neither a program of this system nor a script: "
          + "its first line must name an interpreter, such as “#!/usr/bin/env python3”.",
        path: script)
    }
    guard
      let line = head.dropFirst(2).prefix(Self.longest).split(
        separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false
      ).first, line.count < Self.longest - 2
    else {
      throw SandboxError(
        .program, "The first line of “\(script.printable)” is longer than \(Self.longest) bytes.",
        path: script)
    }
    let words = line.split(maxSplits: 1, whereSeparator: Self.isBlank)
    guard let first = words.first else {
      throw SandboxError(
        .program, "The first line of “\(script.printable)” names no interpreter.", path: script)
    }
    program = BytePath(bytes: first)
    arguments = words.dropFirst().map { BytePath(bytes: Self.trimmed($0)) }.filter { !$0.isEmpty }
    if program.lastComponent == "env" { try resolveEnv(script) }
  }

  private mutating func resolveEnv(_ script: BytePath) throws(SandboxError) {
    var words = (arguments.first?.bytes ?? []).split(whereSeparator: Self.isBlank)
      .map { BytePath(bytes: $0) }
    if words.first == "-S" { words.removeFirst() }
    let special = Array("\"'\\$=".utf8)
    guard let name = words.first, name.bytes.first != UInt8(ascii: "-"),
      !words.contains(where: { $0.bytes.contains { special.contains($0) } })
    else {
      throw SandboxError(
        .program,
        "The first line of “\(script.printable)” uses env for more than finding a program, "
          + "which is not supported here. Name the interpreter by its path.",
        path: script)
    }
    program = name
    arguments = Array(words.dropFirst())
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let start = bytes.firstIndex { !isBlank($0) } ?? bytes.endIndex
    let end = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
    return bytes[start..<max(start, end)]
  }
}
