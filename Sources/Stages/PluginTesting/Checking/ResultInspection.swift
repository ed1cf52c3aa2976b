import Files
import Hashing
import PipelineModel
import PipelinePlugin
import PluginHost

/// Inspects a result and the files that it names.
struct ResultInspection {
  let result: PluginResult
  /// The name of the sample, for messages.
  let sample: String
  /// The plugin's output folder.
  let output: BytePath

  private static let longestHeader = 4 << 20

  /// Returns the result with its files' digests; throws if it is invalid.
  func job() throws(CheckFailure) -> CheckedPlugin.Job {
    switch result {
    case .done(let facts, let renditions):
      guard facts.object != nil else {
        throw failure("facts are not an object", advice: "Return facts as a JSON object, by name.")
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
        advice: "Return a human-readable sentence on one line as the reason.")
    }
    guard !reason.contains(output.parent.description) else {
      throw failure(
        "the reason names the path of the request",
        advice: "Leave out paths: they differ each time and mean nothing to users.")
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
      // In chunks: it may have any size.
      try file.forEachChunk { chunk throws(FileError) in
        hash.update(chunk)
        beginning += chunk.prefix(Self.longestHeader - beginning.count)
      }
    } catch {
      throw failure(
        "\(name) has no file: \(error.message)",
        advice: "Write the file into the request's output folder and name its path relative to "
          + "that folder.")
    }
    guard !beginning.isEmpty else {
      throw failure("\(name) is an empty file", advice: "Close the file before sending the result.")
    }
    let header = PictureHeader(beginning)
    guard header.type == nil || header.type == rendition.mediaType else {
      throw failure(
        "\(name) is declared as \(rendition.mediaType), but begins like \(header.type ?? "")",
        advice: "Return the media type of the file.")
    }
    if let size = header.size, size != (rendition.width, rendition.height) {
      throw failure(
        "\(name) is declared with \(rendition.width) × \(rendition.height) pixels, but has "
          + "\(size.width) × \(size.height)", advice: "Return the size of the file.")
    }
    return hash.finalize()
  }

  /// Top-level entries of the output folder that contain no rendition.
  private func leftovers(besides renditions: [PluginRendition]) -> [BytePath] {
    let named = Set(renditions.compactMap { BytePath($0.path).components.first })
    // If the folder can't be read, emptying it reports the error.
    let all = (try? Descriptor.openFolder(output).entries().map(\.name)) ?? []
    return all.filter { !named.contains($0) }.sorted()
  }
}

/// The header of a picture in one of the formats of renditions.
struct PictureHeader {
  /// The media type; `nil` if it is unknown.
  var type: String?
  /// The stored size in pixels; `nil` if the header does not simply contain it.
  var size: (width: Int, height: Int)?

  /// Parses the beginning of a file.
  init(_ bytes: [UInt8]) {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      type = "image/png"
      if bytes.count >= 24 { size = (Self.big(bytes[16..<20]), Self.big(bytes[20..<24])) }
    } else if bytes.starts(with: Array("GIF8".utf8)) {
      type = "image/gif"
      if bytes.count >= 10 { size = (Self.little(bytes[6..<8]), Self.little(bytes[8..<10])) }
    } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
      type = "image/jpeg"
      size = Self.sizeOfJPEG(bytes)
    } else if bytes.count >= 12, bytes.starts(with: Array("RIFF".utf8)),
      bytes[8..<12].elementsEqual(Array("WEBP".utf8))
    {
      type = "image/webp"
    }
  }

  /// The size in the first frame header. Source: ITU-T T.81, B.2.2.
  private static func sizeOfJPEG(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
    var place = 2
    while place + 9 <= bytes.count, bytes[place] == 0xFF {
      let marker = bytes[place + 1]
      // C0 to CF are frame headers except for these three, which are tables and an extension.
      if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
        return (big(bytes[place + 7..<place + 9]), big(bytes[place + 5..<place + 7]))
      }
      place += 2 + big(bytes[place + 2..<place + 4])
    }
    return nil
  }

  private static func big(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reduce(0) { $0 << 8 | Int($1) }
  }

  private static func little(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
  }
}
