extension CompletionScript {
  /// Source: bash(1), “Programmable Completion”.
  static var bashScript: String {
    let valued = allOptions.filter { $0.value != nil }
    let values = valued.map { option in
      "    \(option.names.joined(separator: "|"))) \(reply(option.completedValue ?? .unknown)) ;;"
    }
    let verbs = Pipeline.verbs.map { verb in
      let options = (verb.options + Option.common).map(\.name)
      let operands = CompletedOperands(verb.operands)
      return """
            \(verb.name))
              if [[ $word == -* ]]; then
                \(reply(.words(options)))
              elif ((operands == 0)); then
                \(reply(operands.first))
              else
                \(reply(operands.rest))
              fi ;;
        """
    }
    return """
      # Completes `pipeline` in bash; made by `pipeline completions bash`.
      _pipeline() {
        # Bash splits words at colons and equals signs, so they are read anew.
        local line=${COMP_LINE:0:COMP_POINT} word before= verb= operands=0 index cut
        local -a words
        read -a words <<< "$line"
        [[ $line == *[[:space:]] ]] && words+=('')
        word=${words[-1]}
        ((${#words[@]} > 2)) && before=${words[-2]}
        # What stands before the last colon or equals sign is no part of a reply.
        cut=${word%"${word##*[:=]}"}
        if [[ $word == --*=* ]]; then
          before=${word%%=*}
          word=${word#*=}
          cut=${cut#"$before="}
        fi
        COMPREPLY=()
        case $before in
      \(values.joined(separator: "\n"))
          *) _pipeline_word ;;
        esac
        COMPREPLY=("${COMPREPLY[@]#"$cut"}")
      }

      # A word that is not the value of an option.
      _pipeline_word() {
        for ((index = 1; index < ${#words[@]} - 1; index++)); do
          case ${words[index]} in
            \(valued.flatMap(\.names).joined(separator: "|"))) index=$((index + 1)) ;;
            -*) ;;
            *) if [[ -z $verb ]]; then verb=${words[index]}; else operands=$((operands + 1)); fi ;;
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
