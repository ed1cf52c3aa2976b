import Fixtures
import Foundation
import Glibc
import PipelineModel
import PipelinePlugin
import PluginHost
import Synchronization
import Testing
import Vips

@Suite("Thumbnail options, estimates and cancellation", .timeLimit(.minutes(2)))
struct ThumbnailOptionsTests {
  let run: PluginRun

  init() throws { run = try PluginRun("thumbnail") }

  @Test(
    "Options outside the schema are refused with what is wrong",
    arguments: [
      (#"{"format":"bmp"}"#, "bmp"), (#"{"quality":0}"#, "quality is 0"),
      (#"{"quality":101}"#, "quality is 101"), (#"{"transform":"yes"}"#, "transform"),
      (#"{"sizes":[]}"#, "sizes has 0 entries"), (#"{"sizes":[{"name":"a"}]}"#, "maxPixelSize"),
      (#"{"sizes":[{"name":"a","maxPixelSize":0}]}"#, "maxPixelSize is 0"),
      (#"{"sizes":[{"name":"../a","maxPixelSize":9}]}"#, "is not a name"),
      (#"{"sizes":[{"name":"","maxPixelSize":9}]}"#, "is not a name"),
      (#"{"sizes":[{"name":"-a","maxPixelSize":9}]}"#, "is not a name"),
      (#"{"sizes":[{"name":"a","maxPixelSize":9},{"name":"a","maxPixelSize":8}]}"#, "two entries"),
      (#"{"sizes":[{"name":"a","maxPixelSize":9,"qality":3}]}"#, "qality"),
      (#"{"colorSpace":"rgb"}"#, "rgb"), (#"{"scaling":"slow"}"#, "slow"),
      (#"{"fromImage":"never"}"#, "never"), (#"{"strip":1}"#, "strip"),
    ])
  func refused(options: String, words: String) throws {
    let value = try JSONText.decode(JSONValue.self, from: options)
    let backend = run.backend
    let failure = try #require(throws: PluginFailure.self) {
      try backend.makeInstance(options: value)
    }
    #expect(failure.reason.contains(words), "\(failure.reason)")
  }

  @Test("The schema says what the decoder accepts")
  func schema() throws {
    let properties = run.backend.manifest.options["properties"]
    #expect(
      properties?.object?.keys.sorted() == [
        "colorSpace", "format", "fromImage", "quality", "region", "scaling", "sizes", "strip",
        "transform",
      ])
    let picture = try Pictures.jpeg(width: 40, height: 30)
    for name in ["colorSpace", "format", "fromImage", "scaling"] {
      for value in properties?[name]?["enum"]?.array ?? [] {
        guard case .done = try run.process(picture, options: .object([name: value])) else {
          Issue.record("\(name) \(value) is in the schema and not accepted")
          continue
        }
      }
    }
    for name in ["minimum", "maximum"] {
      let quality = try #require(properties?["quality"]?[name])
      _ = try run.backend.makeInstance(options: ["quality": quality])
      let size = try #require(properties?["sizes"]?["items"]?["properties"]?["maxPixelSize"]?[name])
      _ = try run.backend.makeInstance(options: ["sizes": [["name": "a", "maxPixelSize": size]]])
    }
  }

  @Test("Identify's figures make an estimate, which grows with the picture and the largest size")
  func estimate() throws {
    let identify = try PluginRun("identify")
    func estimate(_ bytes: [UInt8], _ options: JSONValue) throws -> Int {
      let facts = ["identify": try identify.facts(bytes)]
      return try #require(try run.backend.makeInstance(options: options).estimate(facts: facts))
    }
    let large: JSONValue = ["sizes": [["name": "a", "maxPixelSize": 2000]]]
    let small: JSONValue = ["sizes": [["name": "a", "maxPixelSize": 200]]]
    let baseline = try Pictures.jpeg(width: 1000, height: 800)
    let progressive = try Pictures.jpeg(width: 1000, height: 800, progressive: true)
    #expect(try estimate(baseline, large) > estimate(baseline, small))
    #expect(try estimate(progressive, small) > estimate(baseline, small))
    #expect(try run.backend.makeInstance(options: [:]).estimate(facts: [:]) == nil)
  }

  @Test("A decoder that can decode less takes all the memory for large sizes and for regions only")
  func reducedEstimate() throws {
    func estimate(_ options: JSONValue, _ memory: JSONValue, _ type: String) throws -> Int {
      let facts: [String: JSONValue] = [
        "identify": [
          "mediaType": .string(type), "width": 9000, "height": 6000, "decodeBytes": memory,
        ]
      ]
      return try #require(try run.backend.makeInstance(options: options).estimate(facts: facts))
    }
    let small: JSONValue = ["sizes": [["name": "a", "maxPixelSize": 1024]]]
    let large: JSONValue = ["sizes": [["name": "a", "maxPixelSize": 1025]]]
    let region: JSONValue = [
      "sizes": [["name": "a", "maxPixelSize": 1024]], "region": [0, 0, 9, 9],
    ]
    // An unusual JPEG 2000, a raw file, and what libvips reads in rows.
    for (memory, type, isReduced): (JSONValue, String, Bool) in [
      (["streamed": 900_000_000, "whole": 900_000_000, "reduced": 9_000_000], "image/jp2", true),
      (["streamed": 9_000_000, "whole": 900_000_000], "image/x-canon-cr2", true),
      (["streamed": 9_000_000, "whole": 900_000_000], "image/png", false),
    ] {
      #expect(try estimate(small, memory, type) < 200_000_000, "\(type)")
      for options in [large, region] {
        #expect(try (estimate(options, memory, type) > 900_000_000) == isReduced, "\(type)")
      }
    }
  }

  @Test("A job that was given up before it began leaves nothing")
  func cancelledAtOnce() throws {
    let job = JobControl()
    job.cancel()
    let result = try run.process(try Pictures.jpeg(), job: job)
    guard case .failed(let failure) = result else { throw Unexpected("\(result)") }
    #expect(failure.class == .transient)
    #expect(try run.outputNames.isEmpty)
  }

  @Test("A job that is given up while it decodes ends early and leaves nothing")
  func cancelledWhileDecoding() throws {
    let picture = try Pictures.picture().resized(width: 8000, height: 6000, kernel: .linear)
    let bytes = try Pictures.file(picture, ".jpg[Q=60]")
    let options: JSONValue = [
      "scaling": "exact",
      "sizes": [["name": "a", "maxPixelSize": 4000], ["name": "b", "maxPixelSize": 3999]],
    ]
    // A job is worked on by the thread that asks for it, whose time on processors does not depend
    // on what else the machine does.
    let clock = try threadClock()
    let start = seconds(of: clock)
    _ = try run.process(bytes, options: options)
    let whole = seconds(of: clock) - start
    let job = JobControl()
    let isOver = Atomic(false)
    let second = seconds(of: clock)
    Thread.detachNewThread {
      while seconds(of: clock) < second + whole / 5, !isOver.load(ordering: .relaxed) {
        usleep(1000)
      }
      job.cancel()
    }
    let result = try run.process(bytes, options: options, job: job)
    let early = seconds(of: clock) - second
    isOver.store(true, ordering: .relaxed)
    guard case .failed(let failure) = result else { throw Unexpected("the job went on") }
    #expect(failure.class == .transient)
    #expect(try run.outputNames.isEmpty)
    #expect(early < whole * 0.7, "\(early) of \(whole)")
  }

  @Test("Progress ends at the whole")
  func progress() throws {
    let told = Mutex<[Double]>([])
    let job = JobControl(progress: { fraction in told.withLock { $0.append(fraction) } })
    _ = try run.process(try Pictures.jpeg(), job: job)
    #expect(told.withLock { $0.last } == 1)
  }
}

/// The clock of this thread's time on processors. Source: pthread_getcpuclockid(3).
private func threadClock() throws -> clockid_t {
  var clock = clockid_t()
  try #require(pthread_getcpuclockid(pthread_self(), &clock) == 0)
  return clock
}

private func seconds(of clock: clockid_t) -> Double {
  var time = timespec()
  clock_gettime(clock, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
