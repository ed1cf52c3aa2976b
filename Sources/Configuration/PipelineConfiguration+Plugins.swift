package import PipelineModel

extension PipelineConfiguration {
  /// Finds what is wrong with the stages' plugins and their options, and stages that do the same.
  ///
  /// A stage with a `command` may name a plugin that is not known yet, since only the program
  /// can say which one it is.
  ///
  /// - Parameters:
  ///   - plugins: The schema of the options of each known plugin, by its id.
  ///   - needs: All needs of a stage; by default those that the file names.
  package func problems(
    plugins: [String: JSONValue], needs: (StageConfiguration) -> [String] = \.needs
  ) -> [ConfigurationError] {
    var problems: [ConfigurationError] = []
    var sound: [Int] = []
    for (index, stage) in stages.enumerated() {
      let place = "/\(TopKey.stages.rawValue)/\(index)"
      if stage.command != nil, stage.isolation == .none {
        problems.append(
          ConfigurationError(
            code: .conflict,
            message: "The stage \(quoted(stage.name)) has a “command”, and a program always runs "
              + "in a process of its own: leave out “isolation”.",
            pointer: JSONPointer.appending(StageKey.isolation.rawValue, to: place), file: file))
        continue
      }
      // Only the program can say what its options are.
      if stage.command != nil, plugins[stage.plugin] == nil { continue }
      guard let schema = plugins[stage.plugin] else {
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
      let found = optionProblems(of: stage, schema: schema, at: place)
      problems += found
      if found.isEmpty { sound.append(index) }
    }
    return problems + sameWork(among: sound, plugins: plugins, needs: needs)
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
          code: .badSchema, message: problem.ofSchema(plugin: stage.plugin),
          pointer: JSONPointer.appending(StageKey.plugin.rawValue, to: place), file: file)
      }
    }
  }
}

extension ConfigurationError {
  /// What is wrong with the schema of a plugin's options, as a sentence about the plugin.
  fileprivate func ofSchema(plugin: String) -> String {
    "The plugin \(quoted(plugin)) has a schema that can't be used. \(message) Its place in the "
      + "schema is \(quoted(pointer ?? ""))."
  }
}

extension OptionSchema {
  /// What keeps the schema of a plugin's options from being used, as sentences; or `nil`.
  package static func fault(in schema: JSONValue, ofPlugin plugin: String) -> String? {
    do {
      _ = try OptionSchema(schema)
      return nil
    } catch {
      return error.errors.map { $0.ofSchema(plugin: plugin) }.joined(separator: " ")
    }
  }
}
