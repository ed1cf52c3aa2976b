/// A check of one aspect of the machine.
protocol DoctorCheck: Sendable {
  /// Returns the findings: at least one, unless there is nothing to check.
  func run(_ site: DoctorSite) -> [Finding]
}
