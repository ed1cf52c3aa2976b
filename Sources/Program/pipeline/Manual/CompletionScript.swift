import PipelineModel
import Query

/// What may stand at a place of the command line, for completions.
enum CompletedWord: Equatable {
  case files, folders
  case words([String])
  /// The beginnings of conditions, such as `camera:`, after which no space follows.
  case query
  /// Something that only the user knows.
  case unknown
}

extension Option {
  /// What may be its value; `nil` for a switch.
  var completedValue: CompletedWord? {
    guard let value else { return nil }
    if !values.isEmpty { return .words(values) }
    return switch value {
    case "FILE": .files
    case "DIR", "FOLDER": .folders
    default: .unknown
    }
  }

  /// The names that start it.
  var names: [String] { [name, short].compactMap(\.self) }
}

/// What the operands of a verb may be, by their names in help: words in lower case, such as those
/// of `list|restore ID…|empty`, stand for themselves.
struct CompletedOperands: Equatable {
  let first: CompletedWord
  /// All others.
  let rest: CompletedWord

  init(_ operands: String) {
    let alternatives = operands.split(separator: "|").map { alternative in
      alternative.split { !$0.isLetter }.map(String.init)
    }
    var seen: Set<String> = []
    let actions = alternatives.compactMap(\.first)
      .filter { $0 == $0.lowercased() && seen.insert($0).inserted }
    let verbs = operands.contains("VERB") ? Pipeline.verbs.map { $0.name } : []
    if actions.isEmpty {
      first = Self.word(alternatives.flatMap(\.self))
      rest = first
    } else {
      first = .words(verbs + actions)
      rest = Self.word(alternatives.flatMap { $0.dropFirst() })
    }
  }

  private static func word(_ names: [String]) -> CompletedWord {
    if names.contains("QUERY") { return .query }
    if names.contains("PATH") { return .files }
    return names.contains("DIR") ? .folders : .unknown
  }
}

/// A script that completes command lines in a shell, made from the tables that parse arguments.
enum CompletionScript: String, CaseIterable {
  case bash, zsh, fish

  var text: String {
    switch self {
    case .bash: Self.bashScript
    case .zsh: Self.zshScript
    case .fish: Self.fishScript
    }
  }

  static let queryWords =
    Field.all.map { "\($0.name):" } + ["near:", "has:"] + Flag.allCases.map { "is:\($0.rawValue)" }

  /// A word for a shell that keeps everything between single quotes.
  static func quoted(_ text: String) -> String {
    "'\(text.replacing("'", with: #"'\''"#))'"
  }

  /// The options of all verbs, each once.
  static var allOptions: [Option] {
    var seen: Set<String> = []
    return (Option.common + Pipeline.verbs.flatMap { $0.options })
      .filter { seen.insert($0.name).inserted }
  }
}
