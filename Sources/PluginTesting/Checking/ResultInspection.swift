import Files
import Glibc
import Hashing
import PipelineModel
import PipelinePlugin
import PluginHost

/// A look at a result and at the files that it names.
struct ResultInspection {
  private let result: PluginResult
  private let sample: String
  private let output: BytePath

  /// Looks at a result.
  ///
  /// - Parameters:
  ///   - sample: the file that it is about, for messages.
  ///   - output: where its files are.
  init(_ result: PluginResult, of sample: String, in output: BytePath) {
    self.result = result
    self.sample = sample
    self.output = output
  }

  /// The most bytes of a picture that are looked at for its size.
  private static let longestHeader = 4 << 20

  /// The result with its files' digests; refused where something is wrong with it.
  func job() throws(CheckFailure) -> CheckedPlugin.Job {
    switch result {
    case .done(let facts, let renditions):
      guard facts.object != nil else {
        throw failure("facts are no object", advice: "Give facts as a JSON object, by name.")
      }
      if let fault = ResultCheck.fault(in: result) {
        throw failure(fault, advice: "See “Result” in docs/plugins.md.")
      }
      var job = CheckedPlugin.Job(result: result)
      for rendition in renditions { job.renditions.append(try digest(of: rendition)) }
      job.leftovers = leftovers(besides: renditions)
      return job
    case .skipped(let reason):
      try checkSentence(reason)
    case .failed(let failure):
      try checkSentence(failure.reason)
    }
    return CheckedPlugin.Job(result: result)
  }

  private func failure(_ what: String, advice: String) -> CheckFailure {
    CheckFailure("For \(sample) it gave a result in which \(what).", advice: advice)
  }

  private func checkSentence(_ reason: String) throws(CheckFailure) {
    let isPlain = reason.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }
    guard !reason.isEmpty, PluginFailure.kept(reason) == reason, isPlain else {
      throw failure(
        "the reason is \(reason.isEmpty ? "empty" : "not one line of text")",
        advice: "Give a sentence for people as the reason, on one line.")
    }
    guard !reason.contains(output.parent.description) else {
      throw failure(
        "the reason names the path of the request",
        advice: "Leave out paths: they differ each time, and mean nothing to who reads it.")
    }
  }

  private func digest(of rendition: PluginRendition) throws(CheckFailure) -> Digest {
    let name = "the rendition “\(rendition.name)”"
    let path = BytePath(rendition.path)
    var beginning: [UInt8] = []
    let hash = SHA256()
    do throws(FileError) {
      let parent = try Descriptor.openFolder(output).openParent(of: path)
      let file = try Descriptor.openRegular(path.lastComponent, in: parent)
      // Piece by piece: it may have any size.
      try file.forEachChunk { chunk throws(FileError) in
        hash.update(chunk)
        beginning += chunk.prefix(Self.longestHeader - beginning.count)
      }
    } catch {
      throw failure(
        "\(name) has no file: \(error.message)",
        advice: "Write the file into the folder that the request names as output, then name its "
          + "path relative to that.")
    }
    guard !beginning.isEmpty else {
      throw failure("\(name) is an empty file", advice: "Close the file before the result is sent.")
    }
    let header = PictureHeader(beginning)
    guard header.type == nil || header.type == rendition.mediaType else {
      throw failure(
        "\(name) is said to be \(rendition.mediaType), but begins as \(header.type ?? "") does",
        advice: "Give the media type that the file has.")
    }
    if let size = header.size, size != (rendition.width, rendition.height) {
      throw failure(
        "\(name) is said to have \(rendition.width) × \(rendition.height) pixels, but has "
          + "\(size.width) × \(size.height)", advice: "Give the size that the file has.")
    }
    return hash.finalize()
  }

  /// Files at the top of the output folder that no rendition is in.
  private func leftovers(besides renditions: [PluginRendition]) -> [BytePath] {
    let named = Set(renditions.compactMap { BytePath($0.path).components.first })
    // A folder that can't be read is reported when it is emptied.
    let all = (try? Descriptor.openFolder(output).entries().map(\.name)) ?? []
    return all.filter { !named.contains($0) }.sorted()
  }
}
