/// All that is wrong in a configuration, in the order of the file where that is known.
package struct ConfigurationErrors: Error, Sendable, Hashable {
  /// The problems, at least one.
  package let errors: [ConfigurationError]

  /// Makes a collection of problems that is not empty.
  package init(_ first: ConfigurationError, _ others: [ConfigurationError] = []) {
    errors = [first] + others
  }

  /// Makes a collection, or `nil` where there are no problems.
  package init?(_ errors: [ConfigurationError]) {
    guard !errors.isEmpty else { return nil }
    self.errors = errors
  }
}

extension ConfigurationErrors: CustomStringConvertible {
  /// One problem a line.
  package var description: String {
    errors.map(\.description).joined(separator: "\n")
  }
}
