/// What was found out about one thing of the machine.
struct Finding {
  enum State: String {
    /// As it should be, or good enough with what `detail` says.
    case ok
    /// The program works, and not as well as it could.
    case warning
    /// What people rely on does not work here.
    case failed
    /// Nothing could be found out.
    case unknown
  }

  /// A word or two, the same each time.
  let name: String
  let state: State
  /// What was seen, as a sentence.
  let detail: String
  /// What to do, as a sentence.
  var advice: String?

  init(_ name: String, _ state: State, _ detail: String, advice: String? = nil) {
    self.name = name
    self.state = state
    self.detail = detail
    self.advice = advice
  }
}
