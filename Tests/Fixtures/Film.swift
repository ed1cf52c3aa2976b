import Foundation

/// A film or sound file made by the program `ffmpeg`, in a folder of its own.
package final class Film {
  /// Whether the program is there.
  package static let canBeMade: Bool = {
    let paths = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
    return paths.contains { FileManager.default.isExecutableFile(atPath: "\($0)/ffmpeg") }
  }()

  package let path: String
  private let folder: URL

  /// Makes a file.
  ///
  /// - Parameters:
  ///   - name: its name, which tells the container.
  ///   - arguments: inputs and options; `@` stands for the folder.
  ///   - files: other files to be written into the folder first, by name.
  package init(_ name: String, _ arguments: String, beside files: [String: [UInt8]] = [:]) throws {
    folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
      .appending(path: "pipeline-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.appending(path: name).path
    for (name, bytes) in files {
      try Data(bytes).write(to: folder.appending(path: name))
    }
    guard !arguments.isEmpty else { return }
    try make(path, arguments)
  }

  // Clean-up only.
  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Makes another file in the folder.
  package func make(_ path: String, _ arguments: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-threads", "1"]
      + arguments.split(separator: " ").map { String($0).replacing("@", with: folder.path) } + [
        path
      ]
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw FilmError(description: text) }
  }

  /// The path of another file in the folder.
  package func beside(_ name: String) -> String { folder.appending(path: name).path }

  package var bytes: [UInt8] {
    get throws { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }
  }

  package func write(_ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }

  /// Cuts the file to a part of its length.
  package func cut(to part: Double) throws {
    let bytes = try bytes
    try write(Array(bytes.prefix(Int(Double(bytes.count) * part))))
  }
}

/// What `ffmpeg` says where it fails.
struct FilmError: Error, CustomStringConvertible {
  let description: String
}
