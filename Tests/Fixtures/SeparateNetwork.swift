import Foundation
import Glibc

/// Two machines' networks with a cable between them, in namespaces of the kernel.
///
/// What is sent over the cable can be lost in both directions, and neither end of a connection is told. Both machines see
/// the same files, and sockets in them.
package final class SeparateNetwork: Sendable {
  package enum Machine: Int, Sendable {
    case first, second
  }

  private let process: Process
  // Its end is the end of both networks.
  private let orders = Pipe()
  private let answers = Pipe()
  /// The processes whose networks they are.
  private let processes: [String]

  // What comes for another hardware address than its own, an end of the cable drops.
  private static let script = """
    set -e
    coproc other { exec unshare --net sh -c 'echo $$; exec cat'; }
    read -r there <&"${other[0]}"
    on() { machine=$1; shift; if [ $machine = 0 ]; then "$@"; else nsenter --target $there --net "$@"; fi; }
    ip link add name cable0 type veth peer name cable1
    ip link set cable1 netns $there
    for machine in 0 1; do
      on $machine ip link set lo up
      on $machine ip link set cable$machine address 02:00:00:00:00:0$machine up
      on $machine ip address add 10.77.0.$((machine + 1))/24 dev cable$machine
    done
    reach() {
      for machine in 0 1; do
        on $machine ip neighbour replace 10.77.0.$((2 - machine)) dev cable$machine \\
          lladdr 02:00:00:00:00:$1$((1 - machine))
      done
    }
    reach 0
    echo $$ $there
    while read -r place; do reach $place; echo; done
    """

  /// Whether this process may make networks: root in a container often may not.
  package static let isAvailable: Bool = {
    let trial = Process()
    trial.executableURL = URL(filePath: "/usr/bin/env")
    trial.arguments = [
      "unshare", "--net", "ip", "link", "add", "name", "cable0", "type", "veth", "peer", "name",
      "cable1",
    ]
    trial.standardError = FileHandle.nullDevice
    guard (try? trial.run()) != nil else { return false }
    trial.waitUntilExit()
    return trial.terminationStatus == 0
  }()

  package init() throws {
    process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["unshare", "--net", "bash", "-c", Self.script]
    process.standardInput = orders
    process.standardOutput = answers
    process.standardError = FileHandle.nullDevice
    try process.run()
    // A script that fails ends the answers.
    try orders.fileHandleForReading.close()
    try answers.fileHandleForWriting.close()
    processes = Self.line(of: answers).split(separator: " ").map(String.init)
    guard processes.count == 2 else { throw POSIXError(.EPERM) }
  }

  deinit {
    try? orders.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  private static func line(of pipe: Pipe) -> String {
    var line: [UInt8] = []
    while let byte = try? pipe.fileHandleForReading.read(upToCount: 1)?.first, byte != 0x0A {
      line.append(byte)
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// Words before a command that is to run on one of the machines.
  package func prefix(_ machine: Machine) -> [String] {
    ["nsenter", "--net=/proc/\(processes[machine.rawValue])/ns/net"]
  }

  /// The address of a machine.
  package static func address(_ machine: Machine) -> String { "10.77.0.\(machine.rawValue + 1)" }

  /// Loses all that is sent over the cable from now on, or nothing.
  package func setLosing(_ isLosing: Bool) throws {
    try orders.fileHandleForWriting.write(contentsOf: Data("\(isLosing ? 1 : 0)\n".utf8))
    _ = Self.line(of: answers)
  }
}
