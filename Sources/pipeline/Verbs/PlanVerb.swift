/// `pipeline plan`: reports what a run would do.
enum PlanVerb: Verb {
  static let name = "plan"
  static let summary = "Say what run would do: files, bytes, jobs, time and space"
  static let examples = [
    ("pipeline plan", "a line for each file, and the totals"),
    ("pipeline plan -q", "only the totals"),
    ("pipeline plan --json", "for scripts; the last object has the totals"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    return try PreviewSession(context).run()
  }
}
