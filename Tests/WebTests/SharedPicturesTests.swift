import Ingest
import LibrarySession
import PipelineModel
import Synchronization
import Testing

@testable import Web

@Suite("Pictures that many ask for", .timeLimit(.minutes(1)))
struct SharedPicturesTests {
  private final class Parent: Sendable {
    let waiting = Mutex<[ParentChannel.Completion]>([])
    let takenBack = Atomic(0)

    func pictures() -> SharedPictures {
      SharedPictures { [self] _, completion in
        waiting.withLock { $0.append(completion) }
        return { [self] in takenBack.wrappingAdd(1, ordering: .relaxed) }
      }
    }

    func answer(_ outcome: WebAnswer.Outcome?, _ bytes: [UInt8] = []) {
      let completions = waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
      for completion in completions { completion(outcome, bytes) }
    }
  }

  private func key(_ side: Int) throws -> SharedPictures.Key {
    SharedPictures.Key(
      asset: try #require(AssetID("018f0000-0000-7000-8000-000000000001")),
      request: PictureRequest(maxPixelSize: side))
  }

  @Test("Equal requests are one question until it is answered, others are others")
  func once() throws {
    let parent = Parent()
    let pictures = parent.pictures()
    let got = Mutex<[Int]>([])
    for side in [1, 1, 2, 1, 2] {
      pictures.picture(try key(side), pictures.makeTicket()) { result in
        guard case .picture(let bytes, mediaType: "image/png") = result else { return }
        got.withLock { $0.append(bytes.count) }
      }
    }
    #expect(parent.waiting.withLock { $0.count } == 2)
    let picture = WebPicture(bytes: 3, mediaType: "image/png")
    parent.answer(.picture(picture), [1, 2, 3])
    #expect(got.withLock { $0 } == [3, 3, 3, 3, 3])
    pictures.picture(try key(1), pictures.makeTicket()) { _ in }
    #expect(parent.waiting.withLock { $0.count } == 1)
  }

  @Test("All learn of a refusal, and may ask again")
  func refused() throws {
    let parent = Parent()
    let pictures = parent.pictures()
    let got = Mutex<[String]>([])
    func ask() throws {
      for _ in 0..<2 {
        pictures.picture(try key(1), pictures.makeTicket()) { result in
          switch result {
          case .busy: got.withLock { $0.append("busy") }
          case .refused(let refusal): got.withLock { $0.append(refusal.reason) }
          case .picture: got.withLock { $0.append("picture") }
          }
        }
      }
    }
    try ask()
    parent.answer(nil)
    try ask()
    parent.answer(.refused(WebRefusal(kind: .busy, reason: "Full.")))
    try ask()
    parent.answer(.refused(WebRefusal(kind: .noPicture, reason: "A text.")))
    #expect(got.withLock { $0 } == ["busy", "busy", "busy", "busy", "A text.", "A text."])
  }

  @Test("Who gives up is told so at once; the question is taken back when nobody else waits")
  func withdrawn() throws {
    let parent = Parent()
    let pictures = parent.pictures()
    let got = Mutex<[String]>([])
    func ask(_ name: String) throws -> Int {
      let ticket = pictures.makeTicket()
      pictures.picture(try key(1), ticket) { result in
        let word = if case .picture = result { "picture" } else { "busy" }
        got.withLock { $0.append("\(name) \(word)") }
      }
      return ticket
    }
    let (one, two) = (try ask("one"), try ask("two"))
    pictures.withdraw(try key(1), one)
    pictures.withdraw(try key(1), one)
    pictures.withdraw(try key(2), two)
    #expect(got.withLock { $0 } == ["one busy"] && parent.takenBack.load(ordering: .relaxed) == 0)
    pictures.withdraw(try key(1), two)
    #expect(got.withLock { $0 } == ["one busy", "two busy"])
    #expect(parent.takenBack.load(ordering: .relaxed) == 1)
    // It is asked anew, and answered once.
    let three = try ask("three")
    #expect(parent.waiting.withLock { $0.count } == 2)
    parent.answer(.picture(WebPicture(bytes: 1, mediaType: "image/png")), [1])
    pictures.withdraw(try key(1), three)
    #expect(got.withLock { $0 } == ["one busy", "two busy", "three picture"])
    #expect(parent.takenBack.load(ordering: .relaxed) == 1)
  }
}
