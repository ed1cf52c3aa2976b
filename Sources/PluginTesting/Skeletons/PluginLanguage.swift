/// A language for which `plugins new` has a skeleton.
package enum PluginLanguage: String, CaseIterable {
  case swift, c, python

  /// The names as listed in a sentence.
  package static var choice: String { "swift, c or python" }
}
