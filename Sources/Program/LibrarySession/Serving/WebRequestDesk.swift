import Files
import Ingest
import LibraryControl
import PipelineModel
import Query
import Synchronization

/// Makes the changes that the process that answers HTTP asks for, and hands out the pictures.
///
/// That process reads what strangers send, so nothing that it says is believed: each question is
/// checked as if it came from one of them.
struct WebRequestDesk {
  let channel: Descriptor
  let search: ConfigurationSearch
  let allowed: [WebChange]
  let pictures: PictureDesk

  /// The longest question: the keys of as many assets as a transaction may change.
  static let longest = 4 << 20
  /// The most changes that wait for one before.
  fileprivate static let mostWaiting = 16

  /// Answers on a thread of its own, until the other process ends.
  ///
  /// - Parameters:
  ///   - onLoss: called when it has lost its database.
  ///   - onEnd: called when it has ended.
  /// - Returns: says something that the other process did not ask for; it may wait until that one reads.
  func open(
    onLoss: @escaping @Sendable () -> Void, onEnd: @escaping @Sendable () -> Void
  ) throws -> @Sendable (WebAnswer.Outcome) -> Void {
    let clerk = Clerk(
      channel: channel, search: search, allowed: allowed, pictures: pictures,
      edits: try WorkLane(width: 1, mostWaiting: Self.mostWaiting), onLoss: onLoss)
    try DedicatedThread.start {
      clerk.work()
      onEnd()
    }
    return { clerk.answer(0, $0) }
  }
}

/// The thread of a `WebRequestDesk`.
private final class Clerk: Sendable {
  private let channel: Descriptor
  private let search: ConfigurationSearch
  private let allowed: [WebChange]
  private let pictures: PictureDesk
  /// Where changes are made, one after the other, while pictures go on.
  private let edits: WorkLane
  private let onLoss: @Sendable () -> Void
  /// Held while an answer is written.
  private let writing = Mutex(())

  init(
    channel: Descriptor, search: ConfigurationSearch, allowed: [WebChange], pictures: PictureDesk,
    edits: WorkLane, onLoss: @escaping @Sendable () -> Void
  ) {
    self.channel = channel
    self.search = search
    self.allowed = allowed
    self.pictures = pictures
    self.edits = edits
    self.onLoss = onLoss
  }

  /// What can't be read ends it, and with it the other process.
  func work() {
    let lines = LineReader(channel, limit: WebRequestDesk.longest)
    while let line = try? lines.next() {
      guard let question = try? JSONText.decode(WebQuestion.self, from: line) else { break }
      let number = question.number
      switch question.subject {
      case .lostDatabase: onLoss()
      case .withdrawn: pictures.withdraw(number)
      case .edits(let asked):
        let isAccepted = edits.submit { [self] in answer(number, outcome(of: asked)) }
        if !isAccepted { answer(number, Self.busy) }
      case .original(let id):
        pictures.fetchOriginal(number, of: id) { [self] error in
          answer(number, error.map { .refused(WebRefusal($0)) } ?? .fetched)
        }
      case .rendition(let id):
        pictures.fetchRendition(number, id) { [self] error in
          answer(number, error.map { .refused(WebRefusal($0)) } ?? .fetched)
        }
      case .picture(let id, let request):
        pictures.ask(number, id, request) { [self] result in
          switch result {
          case .success(let picture):
            let about = WebPicture(bytes: picture.bytes.count, mediaType: picture.mediaType)
            answer(number, .picture(about), picture.bytes)
          case .failure(let error): answer(number, .refused(WebRefusal(error)))
          }
        }
      }
    }
    channel.disconnect()
  }

  private static let busy = WebAnswer.Outcome.refused(
    WebRefusal(
      kind: .busy,
      reason: "The library is busy with something that can't be interrupted; try again later."))

  /// Where nobody reads it any more, there is nobody to tell.
  fileprivate func answer(_ number: Int, _ outcome: WebAnswer.Outcome, _ bytes: [UInt8] = []) {
    let answer = WebAnswer(number: number, outcome: outcome)
    let isWritten = writing.withLock { _ in
      guard let line = try? JSONText.encode(answer) else { return false }
      return (try? channel.write(Array((line + "\n").utf8) + bytes)) != nil
    }
    if !isWritten { channel.disconnect() }
  }

  private func outcome(of asked: [AssetEdit]) -> WebAnswer.Outcome {
    func refuse(_ reason: String, _ kind: WebRefusal.Kind = .failed) -> WebAnswer.Outcome {
      .refused(WebRefusal(kind: kind, reason: reason))
    }
    do {
      let edits = try asked.map(checked)
      try AssetEdits.check(edits)
      return try perform(edits).map { WebAnswer.Outcome.edited($0) } ?? Self.busy
    } catch let error as QueryError {
      return refuse(error.message)
    } catch let error as IngestError where error.code == .locked {
      return refuse(error.message, .busy)
    } catch let error as ServingError {
      return refuse(error.message)
    } catch {
      return refuse(Failure(error).text)
    }
  }

  private func checked(_ edit: AssetEdit) throws -> AssetEdit {
    let change: WebChange =
      switch edit.action {
      case .annotate: .tag
      case .trash, .restore: .trash
      case .retry: .retry
      }
    guard allowed.contains(change) else {
      throw ServingError(.usage, "`pipeline serve` was started without --allow \(change.rawValue).")
    }
    guard case .annotate(let annotations) = edit.action else {
      return AssetEdit(edit.action, edit.assets, mustExist: false)
    }
    guard annotations.count <= Annotation.mostAtOnce else {
      throw ServingError(.usage, "These are more than \(Annotation.mostAtOnce) changes at once.")
    }
    let texts = try annotations.map {
      try Annotation(checking: $0.text, as: $0.property, applies: $0.applies)
    }
    return AssetEdit(.annotate(texts), edit.assets, mustExist: false)
  }

  /// - Returns: `nil` if another process holds the library and takes no requests.
  private func perform(_ edits: [AssetEdit]) throws -> EditResult? {
    let setup = try LibrarySetup(search)
    let found = try LibraryFolder.open(setup.layout)
    try setup.checkFileSystem()
    guard let lock = try found.attemptLock() else {
      let result = try ControlClient(of: found)?.ask(.edit(edits)) { _ in }
      return result.map { EditResult(assets: $0.count("assets"), jobs: $0.count("jobs")) }
    }
    let library = try IngestLibrary(found, lock: lock, reserve: 0, report: Silence())
    defer {
      // Clean-up: whoever opens it next closes it.
      try? library.close()
    }
    return try AssetEdits(library: library, report: Silence()).perform(edits)
  }

  /// What opening a library reports is reported again to the next process that works on it.
  private final class Silence: IngestReport {
    func file(_ event: FileEvent) {}
    func committed() {}
    func warning(_ message: String) {}
  }
}
