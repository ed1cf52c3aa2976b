import Fixtures
import Foundation
import Testing

/// A home folder with a few pictures in it, in which a document's commands are run.
final class DocumentFolder {
  let home: URL

  init() throws {
    home = FileManager.default.temporaryDirectory.appending(
      path: "pipeline-document-\(UUID().uuidString)")
    try makeFolder("Downloads")
    let pictures = [
      "landscape": try Pictures.jpeg(width: 1600, height: 1200),
      "upright": try Pictures.jpeg(
        width: 1200, height: 1600, exif: PicturesExif(orientation: 6)),
    ]
    for (name, bytes) in pictures {
      try Data(bytes).write(to: home.appending(path: "Downloads/\(name).jpg"))
    }
  }

  deinit { try? FileManager.default.removeItem(at: home) }

  func makeFolder(_ name: String) throws {
    try FileManager.default.createDirectory(
      at: home.appending(path: name), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
  }

  func names(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: home.appending(path: folder).path)
  }

  /// Writes a file.
  func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: home.appending(path: name))
  }

  func read(_ name: String) throws -> String {
    try String(contentsOf: home.appending(path: name), encoding: .utf8)
  }

  /// Changes a byte in the middle of a file.
  func damage(_ name: String) throws {
    let file = home.appending(path: name)
    var bytes = try Data(contentsOf: file)
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: file)
  }

  /// Runs a script in the home folder, with the built program in `PATH`.
  func run(_ script: String) throws -> (status: Int32, text: String) {
    let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    let built = own.deletingLastPathComponent().path
    let shell = Process()
    shell.executableURL = URL(filePath: "/bin/bash")
    shell.arguments = ["-c", "set -eu -o pipefail; umask 022\n" + script]
    shell.currentDirectoryURL = home
    shell.standardInput = FileHandle.nullDevice
    var environment = ["HOME": home.path, "PATH": "\(built):/usr/local/bin:/usr/bin:/bin"]
    environment["SOURCES"] = Checkout.root.path
    for name in ["LD_LIBRARY_PATH", "TSAN_OPTIONS", "ASAN_OPTIONS"] {
      environment[name] = ProcessInfo.processInfo.environment[name]
    }
    shell.environment = environment
    let pipe = Pipe()
    shell.standardOutput = pipe
    shell.standardError = pipe
    try shell.run()
    let bytes = try pipe.fileHandleForReading.readToEnd() ?? Data()
    shell.waitUntilExit()
    return (shell.terminationStatus, String(decoding: bytes, as: UTF8.self))
  }

  /// Joins the fenced blocks of one language.
  ///
  /// - Parameters:
  ///   - document: its path in the package.
  ///   - section: the heading that they stand under; `nil` for the whole document.
  static func blocks(_ language: String, of document: String, section: String?) throws -> String {
    let text = try String(contentsOf: Checkout.root.appending(path: document), encoding: .utf8)
    var isInSection = section == nil
    var isInBlock = false
    var isWanted = false
    var lines: [Substring] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        isInBlock.toggle()
        isWanted = isInBlock && isInSection && line == "```\(language)"
      } else if isWanted {
        lines.append(line)
      } else if !isInBlock, line.hasPrefix("## "), let section {
        isInSection = line == "## \(section)"
      }
    }
    try #require(!lines.isEmpty, "\(document) has no such block")
    return lines.joined(separator: "\n") + "\n"
  }
}
