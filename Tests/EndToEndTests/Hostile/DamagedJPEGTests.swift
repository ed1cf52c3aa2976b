import Fixtures
import Foundation
import PipelineModel
import Testing

/// JPEGs that are cut or altered at random, through the whole program and beside libjpeg's own djpeg.
///
/// `make damaged` does the same with thousands, and asks other programs as well.
@Suite("Damaged JPEGs", .timeLimit(.minutes(10)), .seeded)
struct DamagedJPEGTests {
  private static let count = 40

  @Test("Each JPEG that libjpeg warns of is refused or its thumbnails are marked; no other is")
  func marks() throws {
    let workspace = try Workspace()
    var random = SeededRandom(for: "damaged JPEGs")
    let wholes = try ["", ",interlace", ",restart_interval=2"].map {
      try Pictures.file(
        try Pictures.picture(width: 320, height: 240), ".jpg[Q=85,strip\($0)]")
    }
    var files: [String: [UInt8]] = [:]
    while files.count < Self.count {
      let bytes = Self.damaged(try #require(wholes.randomElement(using: &random)), &random)
      if !files.values.contains(bytes) { files["\(files.count).jpg"] = bytes }
    }
    for (name, bytes) in files { try workspace.put(bytes, as: BytePath(name)) }
    _ = try workspace.run("run")
    var states: [String: Int] = [:]
    for asset in try workspace.assets() {
      let name = try #require(asset["name"]?.string)
      let made = try #require(asset["renditions"]?.array).map { $0["from"]?.string }
      let said = try Self.djpeg(try #require(files[name]))
      let state =
        made.isEmpty ? "refused" : made.allSatisfy { $0 == "damaged" } ? "marked" : "plain"
      states[state, default: 0] += 1
      #expect((state == "plain") == said.isEmpty, "\(name) is \(state), djpeg says: \(said)")
      guard state == "marked" else { continue }
      let id = BytePath(try #require(asset["id"]?.string))
      let shown = try workspace.run("show", id).output
      #expect(shown.contains("thumbnails.damage \"The JPEG is damaged: "), "\(shown)")
      #expect(shown.contains(", of a damaged picture"), "\(shown)")
    }
    #expect(states.values.reduce(0, +) == Self.count && states.count == 3, "\(states)")
    let lines = try workspace.run("list").output.split(separator: "\n")
    #expect(lines.count { $0.hasSuffix("\tdamaged") } == states["marked"])
  }

  /// Cuts the file, or alters what comes behind its header.
  private static func damaged(_ whole: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
    var bytes = whole
    let start = (bytes.indices.first { bytes[$0...].starts(with: [0xFF, 0xDA]) } ?? 0) + 14
    let at = Int.random(in: start..<bytes.count - 2, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return Array(bytes[..<at])
    case 1: return bytes[..<at] + [0xFF, 0xD9]
    case 2: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 3: bytes.removeSubrange(at..<min(at + 100, bytes.count))
    case 4: bytes.insert(contentsOf: bytes[(at - 10)..<at], at: at)
    default:
      for index in at..<min(at + 50, bytes.count) { bytes[index] = 0 }
    }
    return bytes
  }

  /// What libjpeg's own program says of a file.
  private static func djpeg(_ bytes: [UInt8]) throws -> String {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/file.jpg"
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let process = Process()
    let errors = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["djpeg", "-outfile", "/dev/null", path]
    process.standardError = errors
    try process.run()
    let said = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus != 127, "djpeg is not installed")
    return String(decoding: said, as: UTF8.self)
  }
}
