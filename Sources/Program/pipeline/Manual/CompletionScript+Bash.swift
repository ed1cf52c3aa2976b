extension CompletionScript {
  /// Source: bash(1), “Programmable Completion”.
  static var bashScript: String {
    let valued = allOptions.filter { $0.value != nil }
    let values = valued.map { option in
      "    \(option.names.joined(separator: "|"))) \(reply(option.completedValue ?? .unknown)); return ;;"
    }
    let verbs = Pipeline.verbs.map { verb in
      let options = (verb.options + Option.common).map(\.name).joined(separator: " ")
      return """
            \(verb.name))
              if [[ $word == -* ]]; then
                \(reply(.words(options.split(separator: " ").map(String.init))))
              else
                \(reply(verb.completedOperands))
              fi ;;
        """
    }
    return """
      # Completes `pipeline` in bash; made by `pipeline completions bash`.
      _pipeline() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb= index
        COMPREPLY=()
        case $before in
      \(values.joined(separator: "\n"))
        esac
        for ((index = 1; index < COMP_CWORD; index++)); do
          case ${COMP_WORDS[index]} in
            \(valued.flatMap(\.names).joined(separator: "|"))) index=$((index + 1)) ;;
            -*) ;;
            *) verb=${COMP_WORDS[index]}; break ;;
          esac
        done
        case $verb in
          '')
            if [[ $word == -* ]]; then
              \(reply(.words(Option.common.map(\.name))))
            else
              \(reply(.words(Pipeline.verbs.map { $0.name })))
            fi ;;
      \(verbs.joined(separator: "\n"))
        esac
      }
      complete -F _pipeline pipeline

      """
  }

  /// A command that sets the replies for the current word.
  private static func reply(_ word: CompletedWord) -> String {
    switch word {
    case .files: "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\")"
    case .folders: "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$word\")"
    case .words(let words):
      "mapfile -t COMPREPLY < <(compgen -W \(quoted(words.joined(separator: " "))) -- \"$word\")"
    case .query:
      "compopt -o nospace; " + reply(.words(queryWords))
    case .unknown: ":"
    }
  }
}
