/// All problems in a configuration, in file order if known.
package struct ConfigurationErrors: Error, Sendable, Hashable {
  /// The problems, at least one.
  package let errors: [ConfigurationError]

  /// Makes a non-empty collection of problems.
  package init(_ first: ConfigurationError, _ others: [ConfigurationError] = []) {
    errors = [first] + others
  }

  /// Makes a collection, or `nil` if there are no problems.
  package init?(_ errors: [ConfigurationError]) {
    guard !errors.isEmpty else { return nil }
    self.errors = errors
  }
}

extension ConfigurationErrors: CustomStringConvertible {
  /// One problem per line.
  package var description: String {
    errors.map(\.description).joined(separator: "\n")
  }
}
