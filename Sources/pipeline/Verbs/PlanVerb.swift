/// `pipeline plan`: what a run would do.
enum PlanVerb: Verb {
  static let name = "plan"
  static let summary = "Say what run would do: files, bytes, jobs, time and space"
  static let examples = [
    ("pipeline plan", "a line for each file, and the sum"),
    ("pipeline plan -q", "the sum only"),
    ("pipeline plan --json", "for scripts; the last object has the sum"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    return try PreviewSession(context).run()
  }
}
