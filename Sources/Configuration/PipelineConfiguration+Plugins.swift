package import PipelineModel

extension PipelineConfiguration {
  /// Finds what is wrong with the stages' plugins and their options.
  ///
  /// A stage with a `command` may name a plugin that is not known yet, since only the program
  /// can say which one it is.
  ///
  /// - Parameter plugins: The schema of the options of each known plugin, by its id.
  package func problems(plugins: [String: JSONValue]) -> [ConfigurationError] {
    var problems: [ConfigurationError] = []
    for (index, stage) in stages.enumerated() {
      let place = "/\(TopKey.stages.rawValue)/\(index)"
      guard let schema = plugins[stage.plugin] else {
        if stage.command != nil { continue }
        let known = plugins.keys.sorted()
        let hint = NearestName.hint(stage.plugin, among: known, kind: "plugins")
        problems.append(
          ConfigurationError(
            code: .unknownPlugin,
            message: "There is no plugin \(quoted(stage.plugin))\(hint)"
              + (hint.last == "?" ? "" : "."),
            pointer: JSONPointer.appending(StageKey.plugin.rawValue, to: place), file: file))
        continue
      }
      problems += optionProblems(of: stage, schema: schema, at: place)
    }
    return problems
  }

  private func optionProblems(
    of stage: StageConfiguration, schema: JSONValue, at place: String
  ) -> [ConfigurationError] {
    let options = JSONPointer.appending(StageKey.options.rawValue, to: place)
    do {
      return try OptionSchema(schema).problems(with: stage.options, at: options).map { problem in
        var problem = problem
        problem.file = file
        return problem
      }
    } catch {
      return error.errors.map { problem in
        ConfigurationError(
          code: .badSchema,
          message: "The plugin \(quoted(stage.plugin)) has a schema that can't be used. "
            + problem.message + " Its place in the schema is \(quoted(problem.pointer ?? "")).",
          pointer: JSONPointer.appending(StageKey.plugin.rawValue, to: place), file: file)
      }
    }
  }
}
