/// A language that `plugins new` has a skeleton for.
package enum PluginLanguage: String, CaseIterable {
  case swift, c, python

  /// The names, as a sentence lists them.
  package static var choice: String { "swift, c or python" }
}
