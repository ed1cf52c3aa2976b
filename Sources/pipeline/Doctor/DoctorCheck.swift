/// A look at one side of the machine.
protocol DoctorCheck: Sendable {
  /// Looks, and says what was found: at least one thing, unless there is nothing to look at.
  func run(_ site: DoctorSite) -> [Finding]
}
