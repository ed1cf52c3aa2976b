import Files
import Foundation
import Glibc
package import PipelineModel
import Spawn

/// A process of the built program that was started and is waited for once.
package final class BuiltProgramRun {
  /// The process, which leads a group of its own.
  package let process: Int32
  private let output: Int32
  private let errors: Int32
  private var status: Int32?

  /// Starts a command line; standard input is empty.
  init(
    _ line: [BytePath], in folder: BytePath, environment: [String: String], output: Int32?
  ) throws {
    self.output = try Self.makeUnnamedFile()
    errors = try Self.makeUnnamedFile()
    do throws(SpawnError) {
      // Not the program itself, because `env` searches `PATH`.
      process = try Program.start(
        "/usr/bin/env", arguments: ["env"] + line,
        environment: environment.sorted { $0.key < $1.key }.map { BytePath("\($0)=\($1)") },
        descriptors: [nil, output ?? self.output, errors], folder: folder, leadsGroup: true)
    } catch {
      throw BuiltProgramError("\(line[0].printable) can't be started: \(error.words)")
    }
  }

  deinit {
    if status == nil {
      kill(-process, SIGKILL)
      waitpid(process, nil, 0)
    }
    close(output)
    close(errors)
  }

  /// What it printed on standard output so far.
  package var outputSoFar: [UInt8] { Self.read(output) }

  /// What it printed on standard error so far.
  package var errorsSoFar: [UInt8] { Self.read(errors) }

  /// Whether it has not ended yet.
  package var isRunning: Bool {
    if status != nil { return false }
    var value: Int32 = 0
    guard waitpid(process, &value, WNOHANG) == process else { return true }
    status = value
    return false
  }

  /// Whether it has the file at a path open.
  package func hasOpen(_ path: BytePath) -> Bool {
    let manager = FileManager.default
    let folder = "/proc/\(process)/fd"
    // A process or a number may be gone by the time that it is looked at.
    let numbers = (try? manager.contentsOfDirectory(atPath: folder)) ?? []
    return numbers.contains {
      (try? manager.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == path.description
    }
  }

  /// Sends it a signal.
  package func signal(_ number: Int32) { kill(process, number) }

  /// Stops it, and returns when none of its threads runs any more.
  ///
  /// The kernel gives the signal to one thread, and the others run until that one has handled it.
  ///
  /// - Throws: `BuiltProgramError` if it ends before that.
  package func stop() throws {
    signal(SIGSTOP)
    let folder = "/proc/\(process)/task"
    try wait(for: "Its stop") {
      try FileManager.default.contentsOfDirectory(atPath: folder).allSatisfy { thread in
        let line = try Descriptor.openFolder(BytePath(folder)).readFile(BytePath("\(thread)/stat"))
        // The name stands in parentheses, and may have some of its own.
        let state = String(decoding: line, as: UTF8.self).split(separator: ")").last?.first {
          $0 != " "
        }
        return state == "T"
      }
    }
  }

  /// Waits for its end.
  ///
  /// - Throws: `BuiltProgramError` if it has to be killed after `seconds`.
  package func wait(within seconds: Double) throws -> BuiltProgramOutcome {
    let start = ContinuousClock.now
    while isRunning {
      if ContinuousClock.now - start > .seconds(seconds) {
        kill(-process, SIGKILL)
        var value: Int32 = 0
        waitpid(process, &value, 0)
        status = value
        throw BuiltProgramError(
          "The program ran for more than \(seconds) s. It had printed:\n"
            + String(decoding: outputSoFar + errorsSoFar, as: UTF8.self))
      }
      usleep(2000)
    }
    let value = status ?? 0
    let signal = value & 0x7F
    return BuiltProgramOutcome(
      exitCode: signal == 0 ? (value >> 8) & 0xFF : nil, signal: signal == 0 ? nil : signal,
      outputBytes: outputSoFar, errorBytes: errorsSoFar)
  }

  /// How much of processors it has used, without its children.
  package func processorSeconds() throws -> Double {
    let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    // The name may have spaces; times are the 12th and 13th value after it.
    let values = text.split(separator: ")").last?.split(separator: " ") ?? []
    guard values.count > 12, let user = Double(values[11]), let system = Double(values[12]) else {
      throw BuiltProgramError("The times of process \(process) can't be read.")
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// Waits until something is so while it runs.
  ///
  /// - Throws: `BuiltProgramError` if it ends before that, or after `seconds`; it is killed then.
  package func wait(
    for what: String, within seconds: Double = 60, until isSo: () throws -> Bool
  ) throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try !isSo() {
      guard isRunning, ContinuousClock.now < end else {
        let printed = String(decoding: outputSoFar + errorsSoFar, as: UTF8.self)
        let fate = isRunning ? "took more than \(seconds) s" : "had not come when it ended"
        if isRunning { kill(-process, SIGKILL) }
        throw BuiltProgramError("\(what) \(fate). It had printed:\n\(printed)")
      }
      usleep(2000)
    }
  }

  private static func makeUnnamedFile() throws -> Int32 {
    var name = Array("/tmp/pipeline-output-XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    guard descriptor >= 0, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
      throw BuiltProgramError("An output file can't be made: \(errno)")
    }
    unlink(name)
    return descriptor
  }

  private static func read(_ descriptor: Int32) -> [UInt8] {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
      // From the start, without moving the offset that the program writes at.
      count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
    }
  }
}

/// Why the built program could not be run.
package struct BuiltProgramError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}
