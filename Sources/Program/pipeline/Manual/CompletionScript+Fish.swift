extension CompletionScript {
  /// Source: fish(1), `complete`.
  static var fishScript: String {
    let names = Pipeline.verbs.map { $0.name }
    var lines = [
      "# Completes `pipeline` in fish; made by `pipeline completions fish`.",
      "set -l verbs \(names.joined(separator: " "))",
      "complete -c pipeline -f",
    ]
    lines += Option.common.map { complete(nil, $0) }
    for verb in Pipeline.verbs {
      lines.append(
        "complete -c pipeline -n \"not __fish_seen_subcommand_from $verbs\" "
          + "-a \(verb.name) -d \(quotedForFish(verb.summary))")
      let condition = "__fish_seen_subcommand_from \(verb.name)"
      lines += verb.options.map { complete(condition, $0) }
      if let operands = operands(verb.completedOperands) {
        lines.append("complete -c pipeline -n \"\(condition)\" \(operands)")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func complete(_ condition: String?, _ option: Option) -> String {
    var line = "complete -c pipeline"
    if let condition { line += " -n \"\(condition)\"" }
    line += " -l \(option.name.dropFirst(2))"
    if let short = option.short { line += " -s \(short.dropFirst())" }
    switch option.completedValue {
    case nil: break
    case .files: line += " -r -F"
    case .folders: line += " -x -a '(__fish_complete_directories)'"
    case .words(let words): line += " -x -a \(quotedForFish(words.joined(separator: " ")))"
    case .query, .unknown: line += " -x"
    }
    return line + " -d \(quotedForFish(option.help))"
  }

  private static func operands(_ word: CompletedWord) -> String? {
    switch word {
    case .files: "-F"
    case .folders: "-a '(__fish_complete_directories)'"
    case .words(let words): "-a \(quotedForFish(words.joined(separator: " ")))"
    case .query: "-a \(quotedForFish(queryWords.joined(separator: " ")))"
    case .unknown: nil
    }
  }

  /// Between single quotes, fish knows `\'` and `\\`.
  private static func quotedForFish(_ text: String) -> String {
    "'\(text.replacing("\\", with: "\\\\").replacing("'", with: "\\'"))'"
  }
}
