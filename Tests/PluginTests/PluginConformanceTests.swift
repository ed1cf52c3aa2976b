import Fixtures
import Foundation
import PipelineModel
import PipelinePlugin
import PluginHost
import Testing

/// What every plugin must do, whatever it is for.
@Suite("Conformance of plugins", .timeLimit(.minutes(2)))
struct PluginConformanceTests {
  #if METADATA
    static let bundled = ["identify", "thumbnail", "command", "motion", "metadata"]
  #else
    static let bundled = ["identify", "thumbnail", "command", "motion"]
  #endif

  /// Options that a plugin can't do without, and others added to them.
  private static func options(_ id: String, _ more: [String: JSONValue] = [:]) -> JSONValue {
    let required: [String: [String: JSONValue]] = ["command": ["command": ["cat", "{input}"]]]
    return .object((required[id] ?? [:]).merging(more) { $1 })
  }

  /// A picture of which a plugin makes something.
  private static func picture(for id: String) throws -> [UInt8] {
    id == "motion"
      ? try Pictures.motionPhoto(Pictures.filmBoxes()) : try Pictures.jpeg(width: 300, height: 200)
  }

  @Test(
    "The id is the library's name, and the schema gives each optional option a default",
    arguments: bundled)
  func manifest(id: String) throws {
    let manifest = try PluginRun(id).backend.manifest
    #expect(manifest.id == id)
    #expect(!manifest.runtime.isEmpty)
    #expect(manifest.options["additionalProperties"] == false)
    let required = (manifest.options["required"]?.array ?? []).compactMap(\.string)
    for (name, schema) in manifest.options["properties"]?.object ?? [:] {
      #expect(schema["description"]?.string?.isEmpty == false, "\(name)")
      #expect(required.contains(name) || schema["default"] != nil, "\(name)")
    }
  }

  @Test(
    "All defaults of the schema together are options, and mean the same as none", arguments: bundled
  )
  func defaults(id: String) throws {
    let run = try PluginRun(id)
    let properties = run.backend.manifest.options["properties"]?.object ?? [:]
    let defaults = Self.options(id, properties.compactMapValues { $0["default"] })
    let picture = try Pictures.jpeg(width: 300, height: 200)
    let options = Self.options(id)
    #expect(try run.process(picture, options: defaults) == run.process(picture, options: options))
  }

  @Test("Unknown options are refused by name", arguments: bundled)
  func unknownOption(id: String) throws {
    let backend = try PluginRun(id).backend
    let failure = #expect(throws: PluginFailure.self) {
      try backend.makeInstance(options: Self.options(id, ["qualty": 3]))
    }
    #expect(failure?.class == .environment)
    #expect(failure?.reason.contains("qualty") == true)
  }

  @Test("The same input gives the same output", arguments: bundled)
  func deterministic(id: String) throws {
    let run = try PluginRun(id)
    let picture = try Self.picture(for: id)
    func once() throws -> [[UInt8]] {
      guard
        case .done(let facts, let renditions) = try run.process(picture, options: Self.options(id))
      else {
        throw Unexpected("not done")
      }
      return [Array(try JSONText.encode(facts).utf8)]
        + (try renditions.map { Array(try Data(contentsOf: run.output.appending(path: $0.path))) })
    }
    #expect(try once() == once())
  }

  @Test("Every beginning of a file is done or failed with a sentence", arguments: bundled)
  func prefixes(id: String) throws {
    let run = try PluginRun(id)
    for suffix in [".jpg", ".png", ".gif", ".webp", ".tif"] {
      let whole = try Pictures.file(try Pictures.picture(width: 12, height: 8), suffix)
      for length in stride(from: 0, to: whole.count, by: max(1, whole.count / 60)) {
        if case .failed(let failure) = try run.process(
          Array(whole.prefix(length)), options: Self.options(id))
        {
          run.expectSentence(failure.reason)
        }
      }
    }
  }

  @Test("Mutated files are done, skipped or failed with a sentence", arguments: bundled)
  func mutations(id: String) throws {
    let run = try PluginRun(id)
    var state: UInt64 = 0x5EED
    for suffix in [".jpg", ".png", ".gif", ".webp", ".tif", ".heic"] {
      let whole = try Pictures.file(try Pictures.picture(width: 24, height: 16), suffix)
      for _ in 0..<60 {
        var bytes = whole
        for _ in 0..<4 {
          // xorshift64, seeded, so that a failure can be seen again.
          state ^= state << 13
          state ^= state >> 7
          state ^= state << 17
          bytes[Int(state % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: state >> 32)
        }
        if case .failed(let failure) = try run.process(bytes, options: Self.options(id)) {
          run.expectSentence(failure.reason)
        }
      }
    }
  }

  @Test("Four lanes at once give what one lane gives", arguments: bundled)
  func instances(id: String) async throws {
    let picture = try Pictures.jpeg(width: 500, height: 400, exif: PicturesExif(orientation: 6))
    let reference = try PluginRun(id).process(picture, options: Self.options(id))
    try await withThrowingTaskGroup(of: PluginResult.self) { group in
      for _ in 0..<4 {
        group.addTask { try PluginRun(id).process(picture, options: Self.options(id)) }
      }
      for try await result in group { #expect(result == reference) }
    }
  }

  @Test(
    "An output folder that can't be written is no fault of the picture",
    arguments: ["thumbnail", "motion"])
  func unwritable(id: String) throws {
    let run = try PluginRun(id)
    try FileManager.default.removeItem(at: run.output)
    try Data().write(to: run.output)
    let input = run.folder.appending(path: "in.jpg")
    try Data(try Self.picture(for: id)).write(to: input)
    let instance = try run.backend.makeInstance(options: [:])
    let request = PluginRequest(
      job: "1",
      asset: .init(
        id: try #require(AssetID("018f0000-0000-7000-8000-000000000001")), name: "in.jpg",
        digest: try #require(Digest(bytes: [UInt8](repeating: 7, count: 32))), size: 1),
      input: input.path, output: run.output.path, options: [:], facts: [:])
    instance.process(request, job: JobControl()) { result in
      guard case .failed(let failure) = result else {
        Issue.record("\(result)")
        return
      }
      #expect(failure.class == .transient)
    }
  }
}
