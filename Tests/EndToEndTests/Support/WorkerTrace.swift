import Fixtures
import Foundation
import PipelineModel
import Testing

/// What the workers of a run did once they were in the sandbox, as strace saw it.
///
/// Taken are the calls of a process from the moment that its filter of system
/// calls is loaded, and all those of the threads and processes that it makes.
struct WorkerTrace {
  /// One system call.
  struct Call {
    /// The process or thread.
    let process: Int
    let name: String
    let arguments: Substring
    /// What it returned, if it returned.
    let result: Int?
    /// The path that strace found for a descriptor that it returned.
    let opened: String?
    /// The folder that the process entered before it was in the sandbox.
    var home = "/"
  }

  /// The calls of workers in their sandbox, in the order in which they ended.
  let calls: [Call]
  /// How many processes entered the sandbox.
  let workers: Int

  /// Why nothing can be traced here, or `nil`.
  static let obstacle: String? = {
    do {
      let folder = try TemporaryFolder()
      var program = BuiltProgram(in: folder.path)
      program.prefix = prefix(to: folder.appending("trace"))
      let outcome = try program.run(["--version"])
      return outcome.exitCode == 0 ? nil : "strace can't trace here: \(outcome.errors)"
    } catch {
      return "strace can't be started here: \(error)"
    }
  }()

  static let reason = Comment(rawValue: obstacle ?? "")

  /// Calls that concern files or other machines, and those that tell who is a worker.
  private static func prefix(to file: BytePath) -> [String] {
    [
      "strace", "-f", "-y", "-qq", "-e", "signal=none", "-e",
      "trace=%file,%network,seccomp,?clone,?clone3,?fork,?vfork,?io_uring_setup", "-o",
      file.description, "--",
    ]
  }

  /// Runs the program under strace.
  static func run(
    _ words: BytePath..., in workspace: Workspace
  ) throws -> (trace: WorkerTrace, outcome: BuiltProgramOutcome) {
    let file = workspace.root.appending("trace")
    var program = workspace.program
    program.prefix = prefix(to: file)
    let outcome = try program.run(words, within: 300)
    let text = String(decoding: try workspace.read(file), as: UTF8.self)
    return (WorkerTrace(text), outcome)
  }

  private init(_ text: String) {
    let all = Self.wholeCalls(text)
    var homes: [Int: String] = [:]
    var sandboxed: [Int: String] = [:]
    var maker: [Int: Int] = [:]
    var entered: [Int: Int] = [:]
    for (index, call) in all.enumerated() {
      switch call.name {
      case "chdir" where call.result == 0 && sandboxed[call.process] == nil:
        homes[call.process] = Self.quoted(call.arguments)
      case "seccomp" where call.arguments.hasPrefix("SECCOMP_SET_MODE_FILTER") && call.result == 0:
        sandboxed[call.process] = homes[call.process] ?? "/"
        entered[call.process] = index
      case "clone", "clone3", "fork", "vfork":
        if let made = call.result, made > 0 { maker[made] = call.process }
      default: break
      }
    }
    workers = sandboxed.count
    var calls: [Call] = []
    for (index, call) in all.enumerated() {
      // A thread of a worker is seen before the call that made it has returned.
      var owner = call.process
      while entered[owner] == nil, let parent = maker[owner] { owner = parent }
      guard let start = entered[owner], owner != call.process || index > start else { continue }
      var call = call
      call.home = sandboxed[owner] ?? "/"
      calls.append(call)
    }
    self.calls = calls
  }

  /// Joins calls that were interrupted by those of others. Source: strace(1), “Tracing”.
  private static func wholeCalls(_ text: String) -> [Call] {
    var begun: [Int: Substring] = [:]
    var calls: [Call] = []
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
      guard parts.count == 2, let process = Int(parts[0]) else { continue }
      var rest = parts[1].drop { $0 == " " }
      if let end = rest.range(of: "<unfinished ...>") {
        begun[process] = rest[..<end.lowerBound]
        continue
      }
      if rest.hasPrefix("<... "), let end = rest.range(of: " resumed>") {
        rest = (begun.removeValue(forKey: process) ?? "") + rest[end.upperBound...]
      }
      if let call = call(rest, process) { calls.append(call) }
    }
    return calls
  }

  /// Reads `name(arguments) = result<path>`.
  private static func call(_ text: Substring, _ process: Int) -> Call? {
    guard let open = text.firstIndex(of: "("),
      let equals = text.range(of: " = ", options: .backwards),
      let close = text[..<equals.lowerBound].lastIndex(of: ")"), close > open
    else { return nil }
    let value = text[equals.upperBound...]
    let digits = value.prefix { $0 == "-" || $0.isNumber }
    var opened: String?
    let tail = value.dropFirst(digits.count)
    if tail.first == "<", let end = tail.lastIndex(of: ">") {
      opened = String(tail[tail.index(after: tail.startIndex)..<end])
    }
    return Call(
      process: process, name: String(text[..<open]),
      arguments: text[text.index(after: open)..<close], result: Int(digits),
      opened: opened)
  }

  /// The first string of some arguments.
  static func quoted(_ arguments: Substring) -> String? {
    guard let start = arguments.firstIndex(of: "\"") else { return nil }
    let rest = arguments[arguments.index(after: start)...]
    return rest.firstIndex(of: "\"").map { String(rest[..<$0]) }
  }
}

extension WorkerTrace {
  /// Calls about other machines or processes, whatever came of them.
  var ofNetwork: [Call] {
    let names = [
      "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendto",
      "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg", "getpeername", "getsockname",
      "shutdown", "io_uring_setup",
    ]
    return calls.filter { names.contains($0.name) }
  }

  /// Files that were opened.
  var opened: [Call] {
    calls.filter { Self.opening.contains($0.name) && ($0.result ?? -1) >= 0 }
  }

  /// Files that the kernel let nobody open although they are there.
  var refused: [Call] {
    calls.filter { Self.opening.contains($0.name) && ($0.result ?? 0) < 0 }
  }

  private static let opening = ["open", "openat", "openat2", "creat"]

  /// Changes to the names and properties of files that were made.
  var changes: [Call] {
    let names = [
      "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "link",
      "linkat", "symlink", "symlinkat", "mknod", "mknodat", "truncate", "chmod", "fchmodat",
      "chown", "lchown", "fchownat", "utime", "utimes", "utimensat", "futimesat", "setxattr",
      "lsetxattr", "removexattr", "mount", "umount2", "chroot", "pivot_root", "execve", "execveat",
    ]
    return calls.filter { names.contains($0.name) && $0.result == 0 }
  }
}
