import PipelineModel

extension PipelineConfiguration {
  /// What a stage's output depends on in addition to the bytes.
  private struct Work: Hashable {
    var plugin: String
    var command: [String]?
    var options: JSONValue
    var needs: [String]
  }

  /// Finds stages that do the same work as an earlier one.
  ///
  /// They would share rows in the ledger, and if their `storage` differs, each start would move
  /// the same bytes back and forth.
  ///
  /// - Parameters:
  ///   - indexes: The stages to compare, with valid options.
  ///   - plugins: The option schemas of their plugins, by ID.
  ///   - needs: Returns all needs of a stage.
  func sameWork(
    among indexes: [Int], plugins: [String: JSONValue], needs: (StageConfiguration) -> [String]
  ) -> [ConfigurationError] {
    var first: [Work: String] = [:]
    var problems: [ConfigurationError] = []
    for index in indexes {
      let stage = stages[index]
      let work = Work(
        plugin: stage.plugin, command: stage.command,
        options: stage.options.removingDefaults(plugins[stage.plugin] ?? [:]),
        needs: needs(stage).sorted())
      guard let other = first[work] else {
        first[work] = stage.name
        continue
      }
      problems.append(
        ConfigurationError(
          code: .sameWork,
          message: "The stages \(quoted(other)) and \(quoted(stage.name)) do the same; remove one, "
            + "or change its options.",
          pointer: JSONPointer.appending(index, to: "/\(TopKey.stages.rawValue)"), file: file))
    }
    return problems
  }
}
