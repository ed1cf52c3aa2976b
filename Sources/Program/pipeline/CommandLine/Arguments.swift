import Configuration
import PipelineModel

/// A command line parsed into a verb, options and operands.
struct Arguments: Sendable {
  /// `nil` if only options were given.
  private(set) var verb: String?
  private var switches: Set<Option> = []
  private var values: [Option: [BytePath]] = [:]
  /// Bytes, because file names need not be UTF-8.
  private(set) var operands: [BytePath] = []

  /// Parses the arguments after the program's name.
  ///
  /// Options may precede or follow the verb; `--` ends them.
  ///
  /// - Parameters:
  ///   - options: returns the options of a verb.
  ///   - takesQuery: whether a verb's operands are a query, in which `-tag:x` is a word.
  init(
    _ words: [BytePath], options: (String?) throws(UsageError) -> [Option],
    takesQuery: (String?) -> Bool = { _ in false }
  ) throws(UsageError) {
    verb = Self.verb(in: words)
    let known = try options(verb)
    let takesQuery = takesQuery(verb)
    var isVerbSeen = false
    var rest = words[...]
    while let word = rest.popFirst() {
      let parts = word.bytes.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = BytePath(bytes: parts.first ?? []).utf8, name.hasPrefix("-"), name != "-"
      else {
        if !isVerbSeen { isVerbSeen = true } else { operands.append(word) }
        continue
      }
      if word == "--" {
        operands += isVerbSeen ? Array(rest) : Array(rest.dropFirst())
        break
      }
      if let letters = Self.switches(in: word, known) {
        switches.formUnion(letters)
        continue
      }
      guard let option = known.first(where: { $0.name == name || $0.short == name }) else {
        if takesQuery, isVerbSeen, !name.hasPrefix("--") {
          operands.append(word)
          continue
        }
        throw UsageError.unknownOption(name, known: known, verb: verb)
      }
      guard option.value != nil else {
        if parts.count > 1 { throw UsageError("\(name) takes no value.", verb: verb) }
        switches.insert(option)
        continue
      }
      let value = parts.count > 1 ? BytePath(bytes: parts[1]) : rest.popFirst()
      guard let value, !value.isEmpty else {
        throw UsageError("\(name) needs a value: \(name) \(option.value ?? "").", verb: verb)
      }
      if !option.isRepeatable { values[option] = [] }
      values[option, default: []].append(value)
    }
  }

  /// Splits combined switches (`-nq` is `-n -q`); `nil` if the word is not a group of switches.
  private static func switches(in word: BytePath, _ known: [Option]) -> [Option]? {
    guard let text = word.utf8, text.hasPrefix("-"), !text.hasPrefix("--"), text.count > 2 else {
      return nil
    }
    let options = text.dropFirst().map { letter in
      known.first { $0.short == "-\(letter)" && $0.value == nil }
    }
    return options.contains(nil) ? nil : options.compactMap(\.self)
  }

  func has(_ option: Option) -> Bool { switches.contains(option) }

  /// The value of an option as text, with bytes that are not UTF-8 percent-encoded.
  func value(_ option: Option) -> String? { path(option)?.description }

  func path(_ option: Option) -> BytePath? { values[option]?.last }

  /// All values of a repeatable option, in order.
  func all(_ option: Option) -> [BytePath] { values[option] ?? [] }

  /// The first word that is neither an option nor the value of a common option.
  private static func verb(in words: [BytePath]) -> String? {
    let valued = Option.common.filter { $0.value != nil } + [.wait]
    var rest = words[...]
    while let word = rest.popFirst() {
      guard let text = word.utf8 else { return word.description }
      if word == "--" { return rest.first?.description }
      if !text.hasPrefix("-") { return text }
      if valued.contains(where: { $0.name == text }) { _ = rest.popFirst() }
    }
    return nil
  }
}

/// An invalid command line.
struct UsageError: Error, Sendable {
  /// A sentence that quotes the offending word.
  let message: String
  /// The verb whose help to suggest.
  let verb: String?

  init(_ message: String, verb: String?) {
    // It quotes the command line, which may contain control characters.
    self.message = BytePath(message).printable
    self.verb = verb
  }

  static func unknownOption(_ name: String, known: [Option], verb: String?) -> UsageError {
    // Every one-letter option resembles every other.
    let names = name.count > 2 ? known.map(\.name) : []
    let meant = NearestName.find(name, among: names).map { " Did you mean \($0)?" } ?? ""
    return UsageError("There is no option “\(name)”.\(meant)", verb: verb)
  }

  /// A value that an option does not have, with the nearest one that it has.
  static func unknownValue(
    _ value: String, of option: Option, known: [String], verb: String?
  ) -> UsageError {
    let hint = NearestName.hint(value, among: known, kind: "values")
    return UsageError("\(option.name) has no value “\(value)”\(hint)", verb: verb)
  }

  static func unknownVerb(_ name: String, known: [String]) -> UsageError {
    let meant = NearestName.find(name, among: known).map { " Did you mean “\($0)”?" } ?? ""
    return UsageError("There is no verb “\(name)”.\(meant)", verb: nil)
  }
}
