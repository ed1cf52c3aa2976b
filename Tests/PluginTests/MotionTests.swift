import Containers
import Fixtures
import Foundation
import PipelineModel
import PipelinePlugin
import PluginHost
import Testing

@Suite("Films of Motion Photos", .timeLimit(.minutes(2)))
struct MotionTests {
  let run: PluginRun

  init() throws { run = try PluginRun("motion") }

  @Test(
    "The film is copied byte for byte, with its size as it is shown",
    arguments: [("isom", "video/mp4", "film.mp4"), ("qt  ", "video/quicktime", "film.mov")],
    [false, true])
  func film(kind: (brand: String, type: String, path: String), turned: Bool) throws {
    let film = Pictures.filmBoxes(width: 320, height: 180, isTurned: turned, brand: kind.brand)
    let result = try run.process(Pictures.motionPhoto(film))
    let wanted = PluginRendition(
      name: "film", path: kind.path, mediaType: kind.type, width: turned ? 180 : 320,
      height: turned ? 320 : 180)
    #expect(result == .done(renditions: [wanted]))
    #expect(try run.outputNames == [kind.path])
    let copy = try Data(contentsOf: run.output.appending(path: kind.path))
    #expect(Array(copy) == film)
  }

  @Test("A picture without a film, and a film that shows nothing, are skipped")
  func none() throws {
    let sound = Pictures.filmBoxes(width: 0, height: 0)
    for bytes in [try Pictures.jpeg(), try Pictures.motionPhoto(sound)] {
      guard case .skipped(let reason) = try run.process(bytes) else {
        throw Unexpected("the job is not skipped")
      }
      run.expectSentence(reason)
      #expect(try run.outputNames.isEmpty)
    }
  }

  @Test("What is found does not depend on what another stage says")
  func rendition() throws {
    // As for a thumbnail of such a picture, which has the facts of the original.
    let thumbnail = try Pictures.jpeg()
    let input = run.folder.appending(path: "thumbnail.jpg")
    try Data(thumbnail).write(to: input)
    let fact: JSONValue = ["offset": 10, "length": 20, "mediaType": "video/mp4"]
    let request = PluginRequest(
      job: "1",
      asset: .init(
        id: try #require(AssetID("018f0000-0000-7000-8000-000000000001")), name: "a.jpg",
        digest: try #require(Digest(bytes: [UInt8](repeating: 7, count: 32))), size: 1),
      input: input.path, output: run.output.path, options: [:],
      facts: ["identify": ["mediaType": "image/jpeg", "motionPhoto": fact]])
    let instance = try run.backend.makeInstance(options: [:])
    instance.process(request, job: JobControl()) { result in
      guard case .skipped = result else {
        Issue.record("\(result)")
        return
      }
    }
  }

  @Test("A file that can't be read is no fault of the picture")
  func unreadable() throws {
    let result = try run.process(path: "/nonexistent/a.jpg")
    guard case .failed(let failure) = result else { throw Unexpected("\(result)") }
    #expect(failure.class == .transient)
    run.expectSentence(failure.reason)
  }

  @Test("A job that is cancelled ends")
  func cancelled() throws {
    let job = JobControl()
    job.cancel()
    let result = try run.process(Pictures.motionPhoto(Pictures.filmBoxes()), job: job)
    guard case .failed(let failure) = result else { throw Unexpected("\(result)") }
    #expect(failure.class == .transient && failure.reason.contains("cancelled"))
  }

  @Test("A film has the size of its largest track, and damaged headers have none")
  func sizes() {
    func size(_ boxes: [UInt8]) -> FilmSize? {
      FilmSize(ByteReader(boxes), in: 0..<boxes.count)
    }
    let film = Pictures.filmBoxes(width: 640, height: 360)
    #expect(size(film)?.width == 640 && size(film)?.height == 360)
    #expect(size(Pictures.box("moov", Pictures.box("trak", Pictures.box("tkhd", [1, 2])))) == nil)
    #expect(size(Pictures.box("moov", [])) == nil)
    for length in stride(from: 0, to: 300, by: 7) {
      #expect(size(Array(film.suffix(length))) == nil)
    }
  }
}
