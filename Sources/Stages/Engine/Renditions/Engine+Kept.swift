import Configuration
import Files
import Hashing
import PipelineModel
import PipelinePlugin
import Records
import Renditions

/// Parts of a stale result that a job keeps, because only other parts of the options changed.
extension Engine {
  /// Returns what a job need not make again: nothing that is missing or damaged; `nil` if that is
  /// nothing at all.
  func keptParts(
    of job: ClaimedJob, stage: StagePlan.Stage
  ) throws(CatalogError) -> KeptParts? {
    guard let result = job.kept else { return nil }
    let most = mostInDatabase(stage.configuration.storage)
    var kept = KeptParts(facts: result.facts, names: result.parts, renditions: [])
    for record in result.renditions {
      if let content = try keptContent(of: record, mostInDatabase: most) {
        kept.renditions.append(KeptRendition(record: record, content: content))
      } else {
        kept.lose(record)
      }
    }
    return kept.renditions.isEmpty ? nil : kept
  }

  /// Returns what is to be done with the bytes of a rendition; `nil` if they are missing or damaged.
  ///
  /// Of bytes that stay where they are, in a file or on a server, only the size is compared: reading all of them
  /// would take longer than making a small size of a photograph. `copies` reads those that a plugin is given.
  private func keptContent(
    of record: RenditionRecord, mostInDatabase: Int
  ) throws(CatalogError) -> KeptRendition.Content? {
    let isFile = record.bytes > mostInDatabase
    // Whatever is wrong with a file, it is made again.
    if let path = record.path, isFile {
      return (try? renditions.size(of: path)) == record.bytes ? .stored(path) : nil
    }
    if record.path == nil, !isFile, ledger.isOnServer {
      return try ledger.size(ofRendition: record.id) == record.bytes ? .former : nil
    }
    let bytes =
      if let path = record.path {
        try? renditions.bytes(of: path, record.digest)
      } else {
        try ledger.bytes(ofRendition: record.id)
      }
    guard let bytes, SHA256.digest(of: bytes) == record.digest else { return nil }
    return isFile ? .file(bytes) : .database(bytes)
  }

  /// Copies the pictures among kept renditions to files of the job's own, and compares them with
  /// their hashes. What is damaged is not kept.
  func copies(
    of kept: inout KeptParts?, for token: AttemptToken, isStopped: @escaping () -> Bool
  ) throws(FileError) -> [(record: RenditionRecord, path: BytePath)] {
    var copies: [(record: RenditionRecord, path: BytePath)] = []
    let pictures = (kept?.renditions ?? []).filter(\.isPicture)
    for (index, rendition) in pictures.enumerated() {
      let file = try work.makeInput(BytePath("kept-\(index)"), for: token)
      switch rendition.content {
      case .database(let bytes), .file(let bytes):
        try file.write(bytes)
      case .former:
        let bytes: [UInt8]?
        do throws(CatalogError) {
          bytes = try ledger.bytes(ofRendition: rendition.record.id)
        } catch {
          throw FileError(.ioError, error.message, path: file.path)
        }
        guard let bytes, SHA256.digest(of: bytes) == rendition.record.digest else {
          kept?.lose(rendition.record)
          continue
        }
        try file.write(bytes)
      case .stored(let path):
        let digest: Digest?
        do throws(FileError) {
          digest = try copyRendition(
            at: path, rendition.record.digest, to: file, isStopped: isStopped)
        } catch  where error.code != .noSpace {
          digest = nil
        }
        guard digest == rendition.record.digest else {
          kept?.lose(rendition.record)
          continue
        }
      }
      copies.append((rendition.record, file.path))
    }
    if copies.isEmpty, kept?.renditions.isEmpty == true { kept = nil }
    return copies
  }

  /// Finishes a job of which everything is kept, without its plugin.
  ///
  /// - Returns: whether that is so.
  func finishKept(_ job: ClaimedJob, stage index: Int) throws(EngineError) -> Bool {
    let plan = stages[index].plan
    guard let parts = job.kept?.parts, parts.isSuperset(of: plan.definition.parts.keys),
      let kept = try inLedger(try keptParts(of: job, stage: plan)),
      plan.wanted(besides: kept)?.isEmpty == true
    else { return false }
    let nothing = FinishedJob.Result.done(facts: [:], renditions: [], kept: [])
    finish(job, stage: index, kept.completed(by: nothing, plan.factsOfParts))
    return true
  }
}

extension StagePlan.Stage {
  /// The names of the parts that are still to be made; `nil` for all.
  func wanted(besides kept: KeptParts?) -> [String]? {
    kept.map { Set(definition.parts.keys).subtracting($0.names).sorted() }
  }
}

/// What a job keeps of a stale result.
struct KeptParts: Sendable {
  /// All facts of that result.
  let facts: JSONValue
  /// The names of the parts that are kept, also of those without a rendition.
  var names: Set<String>
  /// At least one.
  var renditions: [KeptRendition]
  /// Whether the bytes of other renditions are missing or damaged, so that the file is known to have
  /// some of the wanted parts.
  private(set) var hasLost = false

  /// Has a rendition made again.
  mutating func lose(_ record: RenditionRecord) {
    names.remove(record.name)
    renditions.removeAll { $0.record.id == record.id }
    hasLost = true
  }

  /// The result of a job that keeps these and was asked for the rest.
  ///
  /// - Parameter factsOfParts: the facts that have a member for each part.
  func completed(
    by result: FinishedJob.Result, _ factsOfParts: [String]
  ) -> FinishedJob.Result {
    switch result {
    case .done(let facts, let made, _): completed(by: facts, made, factsOfParts)
    // The file has none of the parts that were wanted, unless it had one before.
    case .skipped: hasLost ? result : completed(by: [:], [], factsOfParts)
    case .failed, .noRoom, .givenUp, .inputDamaged: result
    }
  }

  private func completed(
    by new: JSONValue, _ made: [CollectedRendition], _ factsOfParts: [String]
  ) -> FinishedJob.Result {
    // A plugin may make more than is wanted.
    let kept = names.subtracting(made.map(\.rendition.name))
    var merged = (facts.object ?? [:]).merging(new.object ?? [:]) { $1 }
    for name in factsOfParts {
      let old = facts[name]?.object?.filter { kept.contains($0.key) } ?? [:]
      let all = old.merging(new[name]?.object ?? [:]) { $1 }
      merged[name] = all.isEmpty ? nil : .object(all)
    }
    return .done(
      facts: .object(merged), renditions: made,
      kept: renditions.filter { kept.contains($0.record.name) })
  }
}

/// A rendition of a stale result that a job keeps.
struct KeptRendition: Sendable {
  enum Content: Sendable {
    case database([UInt8])
    /// Bytes that become a file.
    case file([UInt8])
    /// The path of a file, which gets another name.
    case stored(String)
    /// Bytes on a server, which stay there.
    case former
  }

  let record: RenditionRecord
  let content: Content

  var isPicture: Bool { record.mediaType.hasPrefix("image/") }

  /// Whether it holds its bytes.
  var isInMemory: Bool {
    switch content {
    case .database, .file: true
    case .stored, .former: false
    }
  }

  /// The rendition as the result of the new job.
  func new(_ content: RenditionContent) -> NewRendition {
    NewRendition(
      name: record.name, mediaType: record.mediaType, width: record.width, height: record.height,
      bytes: record.bytes, digest: record.digest, from: record.from, content: content,
      former: record.id)
  }

  /// The rendition on its way to the store; `nil` if it goes into the database.
  func incoming(of job: ClaimedJob, perAttempt: Bool) -> IncomingRendition? {
    let content: IncomingRendition.Content
    switch self.content {
    case .database, .former: return nil
    case .file(let bytes): content = .bytes(bytes)
    case .stored(let path): content = .stored(path: path, digest: record.digest)
    }
    return IncomingRendition(
      name: job.name(of: record.name, mediaType: record.mediaType, perAttempt: perAttempt),
      content: content)
  }
}

extension RenditionRecord {
  /// What a plugin is told of a kept rendition.
  func told(at path: MessagePath) -> PluginRequest.Kept {
    PluginRequest.Kept(
      name: name, mediaType: mediaType, width: width, height: height, from: from, path: path.text)
  }
}
