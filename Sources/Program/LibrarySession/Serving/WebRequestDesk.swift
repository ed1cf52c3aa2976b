import Files
package import Ingest
import LibraryControl
import PipelineModel
import Query

/// A change that the process that answers HTTP asks for.
package struct WebQuestion: Codable, Sendable {
  /// Chosen by the asker; the answer repeats it.
  package var number: Int
  package var edits: [AssetEdit]

  package init(number: Int, edits: [AssetEdit]) {
    self.number = number
    self.edits = edits
  }
}

/// What came of it.
package struct WebAnswer: Codable, Sendable {
  package var number: Int
  package var result: EditResult?
  /// Why nothing was changed, as a sentence.
  package var refusal: String?
  /// Whether asking again may help.
  package var isTemporary: Bool
}

/// Makes the changes that the process that answers HTTP asks for.
///
/// That process reads what strangers send, so nothing that it says is believed: each question is
/// checked as if it came from one of them.
struct WebRequestDesk {
  let channel: Descriptor
  let search: ConfigurationSearch
  let allowed: [WebChange]

  /// The longest question: the keys of as many assets as a transaction may change.
  static let longest = 4 << 20

  /// Answers on a thread of its own, until the other process ends.
  ///
  /// - Parameter onEnd: called when it has.
  func open(onEnd: @escaping @Sendable () -> Void) throws {
    let clerk = Clerk(channel: channel, search: search, allowed: allowed)
    try DedicatedThread.start {
      clerk.work()
      onEnd()
    }
  }
}

/// The thread of a `WebRequestDesk`.
private final class Clerk: Sendable {
  private let channel: Descriptor
  private let search: ConfigurationSearch
  private let allowed: [WebChange]

  init(channel: Descriptor, search: ConfigurationSearch, allowed: [WebChange]) {
    self.channel = channel
    self.search = search
    self.allowed = allowed
  }

  /// What can't be read ends it, and with it the other process.
  func work() {
    let lines = LineReader(channel, limit: WebRequestDesk.longest)
    while let line = try? lines.next() {
      guard let question = try? JSONText.decode(WebQuestion.self, from: line),
        let text = try? JSONText.encode(answer(question)),
        (try? channel.write(Array((text + "\n").utf8))) != nil
      else { break }
    }
    channel.disconnect()
  }

  private func answer(_ question: WebQuestion) -> WebAnswer {
    func refuse(_ reason: String, isTemporary: Bool = false) -> WebAnswer {
      WebAnswer(
        number: question.number, result: nil, refusal: reason, isTemporary: isTemporary)
    }
    do {
      let edits = try question.edits.map(checked)
      try AssetEdits.check(edits)
      guard let result = try perform(edits) else {
        return refuse(
          "The library is busy with something that can't be interrupted; try again later.",
          isTemporary: true)
      }
      return WebAnswer(number: question.number, result: result, refusal: nil, isTemporary: false)
    } catch let error as QueryError {
      return refuse(error.message)
    } catch let error as IngestError where error.code == .locked {
      return refuse(error.message, isTemporary: true)
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
