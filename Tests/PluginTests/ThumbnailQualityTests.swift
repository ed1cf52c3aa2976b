import Fixtures
import PipelineModel
import Testing

@Suite("Thumbnails: quality", .timeLimit(.minutes(2)))
struct ThumbnailQualityTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  /// The bytes of thumbnails of one size whose entries may have a quality of their own.
  private func bytes(
    _ format: String, quality: Int?, ofSizes qualities: [String: Int?]
  ) throws -> [String: [UInt8]] {
    var options: [String: JSONValue] = ["format": .string(format)]
    if let quality { options["quality"] = .integer(quality) }
    options["sizes"] = .array(
      qualities.sorted { $0.key < $1.key }.map { name, quality in
        var size: [String: JSONValue] = ["name": .string(name), "maxPixelSize": 200]
        if let quality { size["quality"] = .integer(quality) }
        return .object(size)
      })
    return try run.thumbnails(try Pictures.jpeg(), options: .object(options)).mapValues(\.bytes)
  }

  @Test(
    "The quality of the stage counts, and that of a size before it",
    arguments: ["jpeg", "webp", "avif"])
  func quality(format: String) throws {
    let low = try bytes(format, quality: 20, ofSizes: ["plain": nil, "fine": 95])
    let high = try bytes(format, quality: 95, ofSizes: ["plain": nil, "coarse": 20])
    let usual = try bytes(format, quality: nil, ofSizes: ["plain": nil, "fine": 95])
    let (coarse, fine) = (try #require(low["plain"]), try #require(high["plain"]))
    let middling = try #require(usual["plain"])
    #expect(coarse.count < middling.count && middling.count < fine.count)
    #expect(low["fine"] == fine && usual["fine"] == fine && high["coarse"] == coarse)
    #expect(try bytes(format, quality: 80, ofSizes: ["plain": nil])["plain"] == middling)
  }
}
