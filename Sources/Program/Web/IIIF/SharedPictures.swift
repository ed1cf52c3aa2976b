import LibrarySession
import PipelineModel
import Synchronization

/// Asks for pictures, once for all that want the same one at the same time.
final class SharedPictures: Sendable {
  struct Key: Hashable, Sendable {
    let asset: AssetID
    let request: PictureRequest
  }

  /// A picture, or why there is none.
  enum Result: Sendable {
    case picture(ResponseBytes, mediaType: String)
    case refused(WebRefusal)
    /// The process that makes them has too much to do, or is ending.
    case busy
  }

  typealias Completion = @Sendable (Result) -> Void
  /// Asks for something, and returns what takes that back.
  typealias Ask =
    @Sendable (WebQuestion.Subject, @escaping ParentChannel.Completion) -> @Sendable () -> Void

  private struct Question {
    /// The ticket of who asked first.
    let first: Int
    /// Those who wait, by their tickets.
    var waiting: [Int: Completion] = [:]
    var takeBack: (@Sendable () -> Void)?
  }

  private struct State {
    var questions: [Key: Question] = [:]
    var lastTicket = 0
  }

  private let ask: Ask
  private let state = Mutex(State())

  convenience init(_ channel: ParentChannel) {
    self.init { subject, completion in
      let number = channel.ask(subject, completion: completion)
      return { if let number { channel.withdraw(number) } }
    }
  }

  /// - Parameter ask: asks the process that makes pictures.
  init(ask: @escaping Ask) { self.ask = ask }

  /// A number by which somebody can give up waiting.
  func makeTicket() -> Int {
    state.withLock { state in
      state.lastTicket += 1
      return state.lastTicket
    }
  }

  /// - Parameter completion: called once, on any thread.
  func picture(_ key: Key, _ ticket: Int, completion: @escaping Completion) {
    let isFirst = state.withLock { state in
      let isFirst = state.questions[key] == nil
      state.questions[key, default: Question(first: ticket)].waiting[ticket] = completion
      return isFirst
    }
    guard isFirst else { return }
    let takeBack = ask(.picture(key.asset, key.request)) { [self] outcome, bytes in
      let result: Result =
        switch outcome {
        case .picture(let picture):
          .picture(ResponseBytes(bytes), mediaType: picture.mediaType)
        case .refused(let refusal) where refusal.kind != .busy: .refused(refusal)
        case .refused, .edited, .fetched, .database, nil: .busy
        }
      let question = state.withLock { $0.questions.removeValue(forKey: key) }
      for completion in question?.waiting.values ?? [:].values { completion(result) }
    }
    state.withLock { state in
      // By now another one may have asked for the same anew.
      if state.questions[key]?.first == ticket { state.questions[key]?.takeBack = takeBack }
    }
  }

  /// Gives up waiting: the answer is that the server is busy. If nobody else waits, the picture need not be made.
  func withdraw(_ key: Key, _ ticket: Int) {
    let (completion, takeBack) = state.withLock { state -> (Completion?, (@Sendable () -> Void)?) in
      let completion = state.questions[key]?.waiting.removeValue(forKey: ticket)
      guard completion != nil, state.questions[key]?.waiting.isEmpty == true else {
        return (completion, nil)
      }
      return (completion, state.questions.removeValue(forKey: key)?.takeBack)
    }
    takeBack?()
    completion?(.busy)
  }
}
