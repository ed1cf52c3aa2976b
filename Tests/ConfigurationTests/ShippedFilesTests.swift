import Foundation
import PipelineModel
import Testing

@testable import Configuration

/// The files at the top of the package that people copy.
@Suite("The shipped files are what the code says", .timeLimit(.minutes(1)))
struct ShippedFilesTests {
  private let top = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private func shipped(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: top.appending(path: name)))
  }

  @Test("pipeline.schema.json is what `pipeline config schema` prints")
  func schema() throws {
    let text = String(decoding: try shipped("pipeline.schema.json"), as: UTF8.self)
    #expect(text == ConfigurationSchema.text)
  }

  @Test("pipeline.json decodes to what it seems to say")
  func configuration() throws {
    let configuration = try PipelineConfiguration.decode(
      bytes: try shipped("pipeline.json"), file: file)
    #expect(configuration.library == BytePath("/home/me/pictures/library"))
    #expect(configuration.memoryBudget.bytes == 4 << 30)
    let source = try #require(configuration.sources.first)
    #expect(configuration.sources.count == 1)
    #expect(source.path == BytePath("/home/me/pictures/inbox"))
    #expect(source.mode == .move && source.duplicates == .discard && source.take == .auto)
    #expect(source.recursive && source.complete == .quiet)
    #expect(source.settle.milliseconds == 2000)
    #expect(source.exclude.map(\.pattern) == ["**/drafts/**"])
    #expect(configuration.stages.map(\.name) == ["identify", "thumbnails"])
    let thumbnails = try #require(configuration.stages.last)
    #expect(thumbnails.plugin == "thumbnail" && thumbnails.needs == ["identify"])
    #expect(thumbnails.concurrency == 2 && thumbnails.attempts == 3)
    #expect(thumbnails.limits.time?.milliseconds == 60_000)
    #expect(thumbnails.limits.memory?.bytes == 1 << 30)
    #expect(thumbnails.isolation == .process && thumbnails.storage == .auto)
  }

  @Test("pipeline.json names the schema that lies beside it")
  func schemaReference() throws {
    let value = try JSONText.decode(JSONValue.self, from: try shipped("pipeline.json"))
    #expect(value["$schema"]?.string == "pipeline.schema.json")
  }
}
