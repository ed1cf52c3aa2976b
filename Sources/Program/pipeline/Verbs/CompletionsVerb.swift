import PipelineModel

/// `pipeline completions`: prints a script that completes command lines in a shell.
enum CompletionsVerb: Verb {
  static let name = "completions"
  static let summary = "Print a script that completes command lines in bash, zsh or fish"
  static let operands = "bash|zsh|fish"
  static let examples = [
    ("pipeline completions bash > ~/.local/share/bash-completion/completions/pipeline", "for you"),
    ("pipeline completions zsh > ~/.zfunc/_pipeline", "in a folder of your fpath"),
    ("pipeline completions fish > ~/.config/fish/completions/pipeline.fish", "for you"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 1)
    let shell = try context.operand(0, "bash, zsh or fish")
    guard let script = CompletionScript(rawValue: shell.description) else {
      throw UsageError("Name a shell: bash, zsh or fish.", verb: name)
    }
    context.console.write(Array(script.text.utf8))
    return .success
  }
}
