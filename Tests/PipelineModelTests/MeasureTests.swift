import PipelineModel
import Testing

@Suite("Sizes, spans and moments", .timeLimit(.minutes(1)))
struct MeasureTests {
  @Test(
    "Sizes are read with and without a unit",
    arguments: [
      ("0", 0), ("17", 17), ("5B", 5), ("64KiB", 65536), ("1MiB", 1 << 20), ("2GiB", 2 << 30),
      ("1TiB", 1 << 40), ("007", 7), ("9223372036854775807", Int.max),
    ])
  func sizes(text: String, bytes: Int) { #expect(ByteSize(text)?.bytes == bytes) }

  @Test(
    "What is no size is refused",
    arguments: [
      "", "KiB", "B", "-1", "-0", "+5", "+5KiB", "1.5MiB", "1 KiB", " 1", "1kib", "1KB", "1e3",
      "8388608TiB", "9223372036854775808", "٣",
    ])
  func noSizes(text: String) { #expect(ByteSize(text) == nil) }

  @Test(
    "Sizes read well",
    arguments: [
      (0, "0 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (1536, "1.5 KiB"),
      (1_468_006, "1.4 MiB"), (3 << 30, "3 GiB"), (5 << 40, "5 TiB"),
    ])
  func sizesForPeople(bytes: Int, text: String) {
    #expect(ByteSize(bytes: bytes).description == text)
  }

  @Test(
    "Spans are read with their unit and written in the largest whole one",
    arguments: [
      ("250ms", 250, "250ms"), ("2s", 2000, "2s"), ("60s", 60_000, "1m"), ("5m", 300_000, "5m"),
      ("90m", 5_400_000, "90m"), ("1h", 3_600_000, "1h"), ("7d", 604_800_000, "7d"),
      ("1500ms", 1500, "1500ms"), ("0s", 0, "0ms"),
    ])
  func spans(text: String, milliseconds: Int, written: String) throws {
    let span = try #require(TimeSpan(text))
    #expect(span.milliseconds == milliseconds)
    #expect(span.description == written)
    #expect(TimeSpan(span.description) == span)
    #expect(span.duration == .milliseconds(milliseconds))
    #expect(span.seconds == Double(milliseconds) / 1000)
  }

  @Test(
    "What is no span is refused",
    arguments: [
      "", "s", "ms", "5", "-1s", "-0s", "+5s", "1.5s", "1 s", "5M", "1w", "9223372036854775807d",
    ])
  func noSpans(text: String) { #expect(TimeSpan(text) == nil) }

  @Test("A moment survives RFC 3339 to the millisecond")
  func moments() throws {
    let moment = Timestamp(microseconds: 1_700_000_000_123_000)
    #expect(moment.rfc3339 == "2023-11-14T22:13:20.123Z")
    #expect(Timestamp(rfc3339: moment.rfc3339) == moment)
    #expect(Timestamp(rfc3339: "2023-11-14T22:13:20Z")?.microseconds == 1_700_000_000_000_000)
    for milliseconds: Int64 in [-1500, -1, 0, 999, 1_700_000_000_001, 1_799_999_999_999] {
      let moment = Timestamp(microseconds: milliseconds * 1000)
      #expect(Timestamp(rfc3339: moment.rfc3339) == moment)
    }
    #expect(Timestamp(microseconds: 1_700_000_000_999_999).rfc3339.hasSuffix("20.999Z"))
    #expect(Timestamp(rfc3339: "yesterday") == nil)
    #expect(moment < moment.adding(seconds: 0.000_001))
    #expect(moment.adding(seconds: 1.5).microseconds == 1_700_000_001_623_000)
  }

  @Test(
    "Media types are matched without regard to case",
    arguments: [
      ("image/jpeg", "image/jpeg", true), ("IMAGE/JPEG", "image/jpeg", true),
      ("image/jpeg", "Image/*", true), ("image/jpeg", "*/*", true), ("video/mp4", "image/*", false),
      ("image/jpeg2000", "image/jpeg", false), ("imagex/jpeg", "image/*", false),
      ("", "image/*", false), ("image", "image/*", false),
    ])
  func mediaTypes(type: String, pattern: String, matches: Bool) {
    #expect(MediaType(rawValue: type).matches(pattern) == matches)
  }
}
