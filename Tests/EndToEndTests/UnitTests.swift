import Fixtures
import Foundation
import PipelineModel
import Testing

/// The units for systemd as they are installed, examined by systemd's own tool.
@Suite("Units of systemd", .timeLimit(.minutes(2)))
struct UnitTests {
  private static let units = Checkout.root.appending(path: "Packaging/systemd")
  private static let analyzer = "/usr/bin/systemd-analyze"

  /// The units with a place put in for their program, the templates as instances.
  private func instances(in folder: BytePath) throws -> [String] {
    var names: [String] = []
    let program = folder.appending("bin")
    try FileManager.default.createDirectory(
      atPath: program.description, withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      atPath: "/bin/true", toPath: program.appending("pipeline").description)
    for unit in try FileManager.default.contentsOfDirectory(atPath: Self.units.path).sorted() {
      let text = try String(contentsOf: Self.units.appending(path: unit), encoding: .utf8)
        .replacing("@PREFIX@", with: folder.description)
      for name in Set([unit, unit.replacing("@", with: "@nobody")]) {
        try text.write(
          toFile: folder.appending(BytePath(name)).description, atomically: true, encoding: .utf8)
      }
      names.append(unit.replacing("@", with: "@nobody"))
    }
    return names
  }

  private func analyze(_ words: [String], in folder: BytePath) throws -> (Int32, String) {
    let output = folder.appending("output").description
    try Data().write(to: URL(fileURLWithPath: output))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Self.analyzer)
    process.arguments = words
    process.currentDirectoryURL = URL(fileURLWithPath: folder.description)
    let handle = try #require(FileHandle(forWritingAtPath: output))
    process.standardOutput = handle
    process.standardError = handle
    try process.run()
    process.waitUntilExit()
    return (process.terminationStatus, try String(contentsOfFile: output, encoding: .utf8))
  }

  @Test(
    "systemd finds no fault with the units, and counts their exposure as low",
    .enabled(
      if: FileManager.default.isExecutableFile(atPath: analyzer), "systemd-analyze is not here."))
  func sound() throws {
    let folder = try TemporaryFolder()
    let units = try instances(in: folder.path)
    #expect(units.count == 12)
    let (code, complaints) = try analyze(
      ["verify", "--man=no"] + units.map { "./\($0)" }, in: folder.path)
    // The user of the units that are not templates is the administrator's to make.
    #expect(code == 0, "\(complaints)")
    #expect(!complaints.contains("Unknown key") && !complaints.contains("Failed to parse"))
    for unit in units where unit.hasSuffix(".service") {
      let (code, text) = try analyze(
        ["security", "--offline=true", "--no-pager", "--threshold=15", "./\(unit)"],
        in: folder.path)
      #expect(code == 0, "\(unit): \(text.suffix(200))")
    }
  }

  @Test("No failure of a service is a hot loop, and none that trying can't mend is tried again")
  func restarts() throws {
    for unit in ["pipeline.service", "pipeline@.service"] {
      let text = try String(contentsOf: Self.units.appending(path: unit), encoding: .utf8)
      let lines = Set(text.split(separator: "\n").map(String.init))
      for line in [
        "Restart=on-failure", "RestartSec=30s", "RestartPreventExitStatus=2", "Type=notify",
      ] { #expect(lines.contains(line), "\(unit): \(line)") }
    }
  }
}
