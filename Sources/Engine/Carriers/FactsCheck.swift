import PipelineModel
import PipelinePlugin

/// How long the facts of a result are, seen before they are decoded.
///
/// Decoded, two mebibytes of `[0,0,…]` take 130.
struct FactsCheck {
  /// The places of the facts in the text.
  private(set) var places: [Range<Int>] = []
  private let text: [UInt8]
  private var index = 0

  /// Looks for the facts; text that is no JSON is left to who decodes it.
  ///
  /// - Parameters:
  ///   - text: JSON in UTF-8, with an object on the outside.
  ///   - path: the keys that lead to them.
  private init(_ text: [UInt8], path: [String]) {
    self.text = text
    if text.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    skipSpace()
    if text.count > PluginResult.mostFactsBytes { _ = readObject(path[...]) }
  }

  /// Why a result's facts are too long, or `nil`.
  static func refusal(ofResult text: [UInt8]) -> PluginFailure? {
    FactsCheck(text, path: ["facts"]).refusal
  }

  /// Reads what a plugin says, but facts that are too long: their job then has failed.
  static func message(from line: [UInt8]) throws -> PluginMessage {
    // `JSONDecoder` reads UTF-16 as well, which has zeros; in JSON in UTF-8 there are none.
    if line.count > PluginResult.mostFactsBytes, line.contains(0) {
      let context = DecodingError.Context(codingPath: [], debugDescription: "it is not UTF-8")
      throw DecodingError.dataCorrupted(context)
    }
    let check = FactsCheck(line, path: ["result", "facts"])
    guard let refusal = check.refusal else {
      return try JSONText.decode(PluginMessage.self, from: line)
    }
    var rest = line
    for place in check.places.reversed() { rest.replaceSubrange(place, with: "{}".utf8) }
    let message = try JSONText.decode(PluginMessage.self, from: rest)
    if case .result(let job, .done) = message { return .result(job: job, .failed(refusal)) }
    return message
  }

  private var refusal: PluginFailure? {
    let most = PluginResult.mostFactsBytes
    guard let size = places.map(\.count).max(), size > most else { return nil }
    return PluginFailure(
      .permanent,
      "Its facts have \(size) bytes as JSON, more than the \(most) bytes that a result may have.")
  }

  // MARK: Steps through the text

  private var next: UInt8? { index < text.count ? text[index] : nil }

  private mutating func skipSpace() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  /// Steps over an object and notes what the path leads to in it.
  ///
  /// - Returns: whether it came to its end.
  private mutating func readObject(_ path: ArraySlice<String>) -> Bool {
    guard take("{") else { return false }
    skipSpace()
    if take("}") { return true }
    while true {
      skipSpace()
      let start = index
      guard next == UInt8(ascii: "\""), skipString() else { return false }
      // A key may have escapes in it.
      let key = try? JSONText.decode(JSONValue.self, from: text[start..<index]).string
      skipSpace()
      guard take(":") else { return false }
      skipSpace()
      guard readMember(key, path) else { return false }
      skipSpace()
      if take("}") { return true }
      guard take(",") else { return false }
    }
  }

  private mutating func readMember(_ key: String?, _ path: ArraySlice<String>) -> Bool {
    guard key == path.first else { return skipValue() }
    if path.count > 1, next == UInt8(ascii: "{") { return readObject(path.dropFirst()) }
    let start = index
    guard skipValue() else { return false }
    if path.count == 1 { places.append(start..<index) }
    return true
  }

  private mutating func skipString() -> Bool {
    index += 1
    while let byte = next {
      index += byte == UInt8(ascii: "\\") ? 2 : 1
      if byte == UInt8(ascii: "\"") { return true }
    }
    return false
  }

  /// Steps over a value of any kind, without a look at what is between its brackets.
  private mutating func skipValue() -> Bool {
    var depth = 0
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        guard skipString() else { return false }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        index += 1
        continue
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        // The end of what a number or a word is in.
        if depth == 0 { return true }
        depth -= 1
        index += 1
      case UInt8(ascii: ",") where depth == 0:
        return true
      default:
        index += 1
        // A number or a word goes on.
        continue
      }
      if depth == 0 { return true }
    }
    return false
  }
}
