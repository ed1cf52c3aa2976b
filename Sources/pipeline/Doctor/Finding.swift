/// The result of one check.
struct Finding {
  enum State: String {
    /// As it should be, or good enough with the restriction in `detail`.
    case ok
    /// The program works, but not as well as it could.
    case warning
    /// Something that users rely on does not work here.
    case failed
    /// The check could not be made.
    case unknown
  }

  /// A stable name of one or two words.
  let name: String
  let state: State
  /// What was found, as a sentence.
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
