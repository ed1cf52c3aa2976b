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

  private let ask: @Sendable (WebQuestion.Subject, @escaping ParentChannel.Completion) -> Void
  private let waiting = Mutex<[Key: [Completion]]>([:])

  convenience init(_ channel: ParentChannel) {
    self.init { subject, completion in channel.ask(subject, completion: completion) }
  }

  /// - Parameter ask: asks the process that makes pictures.
  init(
    ask: @escaping @Sendable (WebQuestion.Subject, @escaping ParentChannel.Completion) -> Void
  ) {
    self.ask = ask
  }

  /// - Parameter completion: called on any thread.
  func picture(_ key: Key, completion: @escaping Completion) {
    let isFirst = waiting.withLock { waiting in
      waiting[key, default: []].append(completion)
      return waiting[key]?.count == 1
    }
    guard isFirst else { return }
    ask(.picture(key.asset, key.request)) { [self] outcome, bytes in
      let result: Result =
        switch outcome {
        case .picture(let picture):
          .picture(ResponseBytes(bytes), mediaType: picture.mediaType)
        case .refused(let refusal) where refusal.kind != .busy: .refused(refusal)
        case .refused, .edited, nil: .busy
        }
      for completion in waiting.withLock({ $0.removeValue(forKey: key) }) ?? [] {
        completion(result)
      }
    }
  }
}
