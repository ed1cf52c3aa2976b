extension CompletionScript {
  /// Source: zshcompsys(1), `_arguments` and `_describe`.
  static var zshScript: String {
    let verbs = Pipeline.verbs.map { verb in
      quoted("\(verb.name):\(verb.summary.replacing(":", with: #"\:"#))")
    }
    let cases = Pipeline.verbs.map { verb in
      let operands = CompletedOperands(verb.operands)
      let name = verb.operands.isEmpty ? "nothing" : "operand"
      let specifications =
        (verb.options + Option.common).flatMap(specifications)
        + [
          quoted("1:\(name):\(action(operands.first))"),
          quoted("*:\(name):\(action(operands.rest))"),
        ]
      return """
              \(verb.name))
                _arguments -s -S \\
                  \(specifications.joined(separator: " \\\n            ")) ;;
        """
    }
    return """
      #compdef pipeline
      # Completes `pipeline` in zsh; made by `pipeline completions zsh`.
      _pipeline() {
        local context state state_descr line
        typeset -A opt_args
        local -a verbs words_of_query
        verbs=(
          \(verbs.joined(separator: "\n    "))
        )
        words_of_query=(\(queryWords.map(quoted).joined(separator: " ")))
        _arguments -C -S \\
          \(Option.common.flatMap(specifications).joined(separator: " \\\n    ")) \\
          '1: :->verb' '*:: :->rest'
        case $state in
          verb) _describe verb verbs ;;
          rest)
            case $words[1] in
      \(cases.joined(separator: "\n"))
            esac ;;
        esac
      }
      if [ "$funcstack[1]" = _pipeline ]; then
        _pipeline "$@"
      else
        compdef _pipeline pipeline
      fi

      """
  }

  private static func specifications(_ option: Option) -> [String] {
    option.names.map { name in
      let star = option.isRepeatable ? "*" : ""
      let help = option.help.replacing("[", with: #"\["#).replacing("]", with: #"\]"#)
        .replacing(":", with: #"\:"#)
      guard let value = option.value, let word = option.completedValue else {
        return quoted("\(star)\(name)[\(help)]")
      }
      // A long option may be joined with its value by `=`.
      return quoted(
        "\(star)\(name)\(name.hasPrefix("--") ? "=" : "")[\(help)]:\(value):\(action(word))")
    }
  }

  private static func action(_ word: CompletedWord) -> String {
    switch word {
    case .files: "_files"
    case .folders: "_files -/"
    case .words(let words): "(\(words.joined(separator: " ")))"
    case .query: #"compadd -S "" -- $words_of_query"#
    case .unknown: " "
    }
  }
}
