extension CompletionScript {
  /// Source: fish(1), `complete`.
  static var fishScript: String {
    let valued = (Option.common + [.wait]).filter { $0.value != nil }.flatMap(\.names)
    var lines = [
      """
      # Completes `pipeline` in fish; made by `pipeline completions fish`.

      # The words before the cursor that are neither options nor their values before the verb.
      function __pipeline_words
          set -l words (commandline -opc)
          set -e words[1]
          set -l skips 0
          for word in $words
              if test $skips = 1
                  set skips 0
              else if contains -- $word \(valued.joined(separator: " "))
                  set skips 1
              else if not string match -q -- '-*' $word
                  echo $word
              end
          end
      end

      # Whether the verb is this one, or there is none yet.
      function __pipeline_verb
          set -l words (__pipeline_words)
          test "$argv[1]" = "$words[1]"
      end

      # Whether there is no operand behind the verb yet.
      function __pipeline_first
          test (count (__pipeline_words)) -lt 2
      end

      complete -c pipeline -f
      """
    ]
    lines += Option.common.map { complete(nil, $0) }
    for verb in Pipeline.verbs {
      lines.append(
        "complete -c pipeline -n \"__pipeline_verb ''\" -a \(verb.name) -d \(quotedForFish(verb.summary))"
      )
      let condition = "__pipeline_verb \(verb.name)"
      lines += verb.options.map { complete(condition, $0) }
      let operands = CompletedOperands(verb.operands)
      for (word, place) in [(operands.first, ""), (operands.rest, "not ")] {
        if let values = self.operands(word) {
          lines.append(
            "complete -c pipeline -n \"\(condition); and \(place)__pipeline_first\" \(values)")
        }
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
