/// A language for which `plugins new` has a skeleton.
enum PluginLanguage: String, CaseIterable {
  case swift, c, python

  /// The names as listed in a sentence.
  static var choice: String { "swift, c or python" }
}
