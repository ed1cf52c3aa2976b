import Configuration
import Files
import Fixtures
import PipelineModel
import PipelinePlugin
import PluginHost

/// Does with a line what the program does, and looks whether what comes of it keeps to its bounds.
struct MessageTrial {
  /// What became of lines, by the kind of message.
  private(set) var counts: [String: Int] = [:]
  /// What was wrong with the last one.
  var fault: String?

  mutating func check(_ line: [UInt8], _ random: inout SeededRandom) {
    split(line, &random)
    do throws(MessageError) {
      switch try PluginMessage(line: line) {
      case .manifest(_, let manifest): check(manifest, &random)
      case .result(_, let result): check(result)
      case .failed(let failure): check(failure.kept.reason, most: PluginFailure.longestReason)
      case .log(_, let text): check(text, most: PluginMessage.longestLog)
      case .created, .estimates, .progress, .limit, .unsupported: count("other")
      }
    } catch {
      count("refused")
      check(error.message, most: 1000)
    }
  }

  private mutating func count(_ kind: String) { counts[kind, default: 0] += 1 }

  private mutating func check(_ text: String, most: Int) {
    if text.unicodeScalars.count > most { fault = "a text of \(text.utf8.count) bytes" }
    if text.printable.unicodeScalars.contains(where: \.isControlling) { fault = "an escape" }
  }

  /// Reads the line in pieces, as it comes through a pipe.
  private mutating func split(_ line: [UInt8], _ random: inout SeededRandom) {
    guard line.count < 5000 else { return }
    var buffer = LineBuffer()
    var lines: [[UInt8]] = []
    var rest = (line + [0x0A])[...]
    while !rest.isEmpty {
      let piece = rest.prefix(1 + random.below(1000))
      rest = rest.dropFirst(piece.count)
      buffer.add(piece)
      while let next = buffer.next() { lines.append(next) }
    }
    if Array(lines.joined(separator: [0x0A])) != line { fault = "a line in pieces is another" }
  }

  private mutating func check(_ manifest: PluginManifest, _ random: inout SeededRandom) {
    if let found = ManifestCheck.fault(in: manifest) {
      count("bad manifest")
      return check(found, most: 1000)
    }
    for type in ["image/png", "text/plain"] {
      _ = manifest.accepts?.contains { MediaType(rawValue: type).matches($0) }
    }
    let schema: OptionSchema
    do throws(ConfigurationErrors) {
      schema = try OptionSchema(manifest.options)
    } catch {
      count("bad schema")
      for error in error.errors { check(error.message, most: 2000) }
      if error.errors.count > 20 { fault = "\(error.errors.count) errors" }
      return
    }
    count("manifest")
    for options in [[:], JSONValue.object(MessageGenerator.object(&random, 4))] {
      for problem in schema.problems(with: options) { check(problem.message, most: 5000) }
      compare(options, manifest.options)
    }
  }

  /// Fills in defaults and removes them, which must not change what is meant.
  private mutating func compare(_ options: JSONValue, _ schema: JSONValue) {
    let filled = options.fillingDefaults(schema)
    let reduced = options.removingDefaults(schema)
    if filled.removingDefaults(schema) != reduced { fault = "defaults change what is meant" }
    // What a worker is told, and what a fingerprint is taken of.
    for value in [filled, reduced] where (try? JSONText.encode(value)) == nil {
      fault = "options that can't be written"
    }
  }

  private mutating func check(_ result: PluginResult) {
    if let found = ResultCheck.fault(in: result) {
      count("bad result")
      return check(found, most: 1000)
    }
    count("result")
    switch result {
    case .done(let facts, let renditions):
      // What the catalog keeps is read again, and printed.
      guard let text = try? JSONText.encode(facts),
        let again = try? JSONText.decode(JSONValue.self, from: text), again.means(facts)
      else { return fault = "facts that can't be kept" }
      if renditions.contains(where: { $0.path.utf8.contains(0) }) { fault = "a path with NUL" }
    case .skipped(let reason): check(PluginFailure.kept(reason), most: PluginFailure.longestReason)
    case .failed(let failure): check(failure.kept.reason, most: PluginFailure.longestReason)
    }
  }
}
