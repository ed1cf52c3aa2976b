import Dispatch
import Fixtures
import Foundation
import PipelineModel
import PipelinePlugin
import PluginHost
import Synchronization
import Testing

/// A plugin as built, called through its backend with one file in a folder of its own.
final class PluginRun {
  let folder: URL
  let backend: LibraryBackend

  /// The folder with the built libraries: that of the running test program.
  static var built: BytePath { PluginFinder.ownExecutable?.parent ?? BytePath("/nowhere") }

  init(_ id: String) throws {
    backend = try LibraryBackend(path: Self.built.appending("libpipeline-\(id).so"))
    folder = FileManager.default.temporaryDirectory.appending(
      path: "pipeline-plugin-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: output, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  var output: URL { folder.appending(path: "out") }

  /// The names of files in the output folder.
  var outputNames: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: output.path).sorted() }
  }

  /// Runs one job over some bytes.
  ///
  /// - Parameter type: the media type that the identifying stage found; `nil` if there is none.
  func process(
    _ bytes: [UInt8], name: String = "picture.jpg", options: JSONValue = [:],
    subject: String = "picture.jpg", type: String? = nil, wanted: [String]? = nil,
    kept: [PluginRequest.Kept]? = nil, facts: [String: JSONValue] = [:],
    job: JobControl = JobControl()
  ) throws -> PluginResult {
    let input = folder.appending(path: name)
    try Data(bytes).write(to: input)
    return try process(
      path: input.path, size: bytes.count, options: options, subject: subject, type: type,
      wanted: wanted, kept: kept, facts: facts, job: job)
  }

  /// Runs one job over the file at a path.
  func process(
    path: String, size: Int = 0, options: JSONValue = [:], subject: String = "picture.jpg",
    type: String? = nil, wanted: [String]? = nil, kept: [PluginRequest.Kept]? = nil,
    facts: [String: JSONValue] = [:], job: JobControl = JobControl()
  ) throws -> PluginResult {
    for name in try outputNames {
      try FileManager.default.removeItem(at: output.appending(path: name))
    }
    let subject = PluginRequest.Subject(
      id: try #require(AssetID("018f0000-0000-7000-8000-000000000001")), name: subject,
      digest: try #require(Digest(bytes: [UInt8](repeating: 7, count: 32))), size: size)
    let request = PluginRequest(
      job: "1", asset: subject, input: path, output: output.path, options: options,
      wanted: wanted, kept: kept,
      facts: type.map { ["identify": ["mediaType": .string($0)]] } ?? facts)
    let instance = try backend.makeInstance(options: options)
    let answer = Mutex<PluginResult?>(nil)
    instance.process(request, job: job) { result in answer.withLock { $0 = result } }
    return try #require(answer.withLock { $0 })
  }

  /// The facts of a job that must succeed.
  func facts(_ bytes: [UInt8], name: String = "picture.jpg") throws -> JSONValue {
    guard case .done(let facts, _) = try process(bytes, name: name) else {
      throw Unexpected("the job is not done")
    }
    return facts
  }

  /// The thumbnails of a job that must succeed, by name.
  func thumbnails(
    _ bytes: [UInt8], options: JSONValue = [:], type: String? = nil
  ) throws -> [String: Thumbnail] {
    let result = try process(bytes, options: options, type: type)
    guard case .done(_, let renditions) = result else {
      throw Unexpected("the job is not done but \(result)")
    }
    var thumbnails: [String: Thumbnail] = [:]
    for rendition in renditions {
      let bytes = try Data(contentsOf: output.appending(path: rendition.path))
      thumbnails[rendition.name] = Thumbnail(
        rendition: rendition, bytes: Array(bytes), picture: try PicturesReading(Array(bytes)))
    }
    #expect(try outputNames == renditions.map(\.path).sorted())
    return thumbnails
  }

  /// The one thumbnail of a job with one size.
  func thumbnail(
    _ bytes: [UInt8], maxPixelSize: Int = 256, options: [String: JSONValue] = [:],
    type: String? = nil
  ) throws -> Thumbnail {
    var options = options
    options["sizes"] = [["name": "one", "maxPixelSize": .integer(maxPixelSize)]]
    return try #require(
      try thumbnails(bytes, options: .object(options), type: type)["one"])
  }

  /// The failure of a job that must fail, having left nothing behind.
  func failure(
    _ bytes: [UInt8], name: String = "picture.jpg", options: JSONValue = [:],
    type: String? = nil
  ) throws -> PluginFailure {
    let result = try process(bytes, name: name, options: options, type: type)
    guard case .failed(let failure) = result else { throw Unexpected("the job did not fail") }
    #expect(try outputNames.isEmpty)
    expectSentence(failure.reason)
    return failure
  }

  /// Expects one line of text with a full stop, and nobody's folders in it.
  func expectSentence(_ text: String) {
    #expect(text.hasSuffix(".") && !text.hasSuffix(".."), "\(text)")
    #expect(!text.contains("\n") && !text.contains(folder.path), "\(text)")
    #expect(text.count > 10 && text.count < 400, "\(text)")
  }
}

extension PluginBackend {
  /// Makes an instance without limits.
  func makeInstance(options: JSONValue) throws(PluginFailure) -> any PluginInstance {
    let context = InstanceContext(
      queue: DispatchQueue(label: "test", attributes: .concurrent),
      memoryShare: ByteSize(bytes: 1 << 30), work: "/nowhere")
    return try makeInstance(options: options, context: context)
  }
}

extension PluginInstance {
  /// Asks what one job will need, of a plugin that answers at once.
  func estimate(facts: [String: JSONValue]) -> Int? {
    let answer = Mutex<Int?>(nil)
    estimate(facts: [facts]) { bytes in answer.withLock { $0 = bytes.first ?? nil } }
    return answer.withLock { $0 }
  }
}

/// A thumbnail as it is on disk.
struct Thumbnail {
  let rendition: PluginRendition
  let bytes: [UInt8]
  let picture: PicturesReading
}

/// What a test did not reckon with.
struct Unexpected: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
