import Foundation
import PictureDecoding
import PipelineModel
import Testing

@testable import VideoDecoder

/// A film or sound file made by the program `ffmpeg`, in a folder of its own.
final class Film {
  /// Whether the program is there.
  static let canBeMade: Bool = {
    let paths = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
    return paths.contains { FileManager.default.isExecutableFile(atPath: "\($0)/ffmpeg") }
  }()

  let path: String
  private let folder: URL

  /// Makes a file.
  ///
  /// - Parameters:
  ///   - name: its name, which tells the container.
  ///   - arguments: inputs and options; `@` stands for the folder.
  ///   - files: other files to be written into the folder first, by name.
  init(_ name: String, _ arguments: String, beside files: [String: [UInt8]] = [:]) throws {
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
  func make(_ path: String, _ arguments: String) throws {
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
    try #require(process.terminationStatus == 0, "\(text)")
  }

  /// The path of another file in the folder.
  func beside(_ name: String) -> String { folder.appending(path: name).path }

  var bytes: [UInt8] {
    get throws { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }
  }

  func write(_ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }

  /// Cuts the file to a part of its length.
  func cut(to part: Double) throws {
    let bytes = try bytes
    try write(Array(bytes.prefix(Int(Double(bytes.count) * part))))
  }

  var facts: [String: JSONValue] {
    get throws(DecoderError) {
      try VideoDecoder.facts(DecoderRequest(path: path, mediaType: "")) { false }
    }
  }

  func decode(longest: Int? = nil) throws(DecoderError) -> DecodedPicture {
    try VideoDecoder.decode(
      DecoderRequest(path: path, mediaType: "", longest: longest)
    ) { false }
  }

  /// Decodes the frame's pixels.
  func frame(longest: Int? = nil) throws -> Frame { try Frame(decode(longest: longest)) }

  /// The code of the error that a body throws; `nil` if it throws none.
  static func code(_ body: () throws(DecoderError) -> Void) -> DecoderError.Code? {
    do throws(DecoderError) {
      try body()
      return nil
    } catch {
      return error.code
    }
  }
}

/// Pixels of a decoded picture.
struct Frame {
  let pixels: [UInt8]
  let width: Int
  let height: Int

  init(_ picture: DecodedPicture) throws {
    guard case .pixels(let pixels, let width, let height, 3) = picture.content else {
      throw DecoderError(.undecodable, "The picture is not of pixels")
    }
    (self.pixels, self.width, self.height) = (pixels, width, height)
    #expect(pixels.count == width * height * 3)
  }

  /// The mean of all values.
  var mean: Double {
    Double(pixels.reduce(0) { $0 + Int($1) }) / Double(pixels.count)
  }

  /// The colour in the middle.
  var middle: [Int] {
    let at = (height / 2 * width + width / 2) * 3
    return pixels[at..<(at + 3)].map(Int.init)
  }
}

extension [UInt8] {
  /// The offset of the first byte behind a text.
  func end(of text: String) throws -> Int {
    let text = Array(text.utf8)
    let start = try #require(indices.first { self[$0...].starts(with: text) })
    return start + text.count
  }

  /// The offset of the last place where bytes are.
  func lastStart(of bytes: [UInt8]) throws -> Int {
    try #require(indices.last { self[$0...].starts(with: bytes) })
  }

  /// Replaces bytes.
  mutating func put(_ bytes: [UInt8], at offset: Int) {
    replaceSubrange(offset..<(offset + bytes.count), with: bytes)
  }
}

extension FixedWidthInteger {
  var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
