import Fixtures
import Foundation
import PipelineModel
import Testing

/// A small disk in memory, in a mount namespace of its own, so that no privilege is needed.
///
/// A process holds the namespace; the program is run in it, and the tests look into it by `/proc`.
final class MemoryDisk {
  /// Where it is mounted, in the namespace.
  let folder: TemporaryFolder
  private let holder = Process()

  /// Whether this machine allows namespaces to the user of the tests.
  static let isPossible: Bool = {
    guard let disk = try? MemoryDisk("size=1m") else { return false }
    return (try? disk.run("true")) == 0
  }()

  /// Mounts one.
  ///
  /// - Parameter options: those of mount(8) for tmpfs, such as `size=4m`.
  init(_ options: String) throws {
    folder = try TemporaryFolder()
    holder.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    holder.arguments = [
      "-Urm", "sh", "-c", "mount -t tmpfs -o \"$1\" tmpfs \"$0\" && echo ready && exec sleep 3600",
      folder.path.description, options,
    ]
    let output = Pipe()
    holder.standardOutput = output
    holder.standardError = FileHandle.nullDevice
    try holder.run()
    guard output.fileHandleForReading.availableData == Data("ready\n".utf8) else {
      throw TraceError("A disk in memory can't be mounted.")
    }
  }

  deinit {
    holder.terminate()
    holder.waitUntilExit()
  }

  /// Words before a command that is to see the disk, in its folder.
  var prefix: [String] {
    [
      "nsenter", "-t", "\(holder.processIdentifier)", "-U", "-m", "--preserve-credentials", "--",
      "sh", "-c", "cd \"$0\" && exec \"$@\"", folder.path.description,
    ]
  }

  /// The path by which a process outside sees a path of the namespace.
  func seen(_ path: BytePath) -> BytePath {
    BytePath(bytes: Array("/proc/\(holder.processIdentifier)/root".utf8) + path.bytes)
  }

  /// Gives it another size.
  func remount(_ options: String) throws {
    try #require(
      try run("mount -o remount,\(options) \(folder.path)") == 0, "It can't be made larger.")
  }

  private func run(_ line: String) throws -> Int32 {
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    shell.arguments = prefix + ["sh", "-c", line]
    shell.standardError = FileHandle.nullDevice
    try shell.run()
    shell.waitUntilExit()
    return shell.terminationStatus
  }
}
