package import PipelineModel

extension PipelineConfiguration {
  /// The plugin that finds out the types of files.
  private static let identifyingPlugin = "identify"

  /// Finds problems with the stages' plugins and options, and stages that do the same work.
  ///
  /// A stage with a `command` may name an unknown plugin, because only the program itself knows
  /// its ID.
  ///
  /// - Parameters:
  ///   - plugins: The option schema of each known plugin, by ID.
  ///   - needs: Returns all needs of a stage; by default those in the file.
  package func problems(
    plugins: [String: JSONValue], needs: (StageConfiguration) -> [String] = \.allNeeds
  ) -> [ConfigurationError] {
    var problems: [ConfigurationError] = []
    var sound: [Int] = []
    for (index, stage) in stages.enumerated() {
      let place = "/stages/\(index)"
      if stage.command != nil, stage.isolation == .none {
        problems.append(
          ConfigurationError(
            code: .conflict,
            message: "The stage \(quoted(stage.name)) has a “command”, and a program always runs "
              + "in a separate process: remove “isolation”.",
            pointer: "\(place)/isolation", file: file))
        continue
      }
      if stage.plugin == Self.identifyingPlugin, stage.accepts != nil {
        problems.append(
          ConfigurationError(
            code: .conflict,
            message: "The stage \(quoted(stage.name)) finds out the types of files, so it can't "
              + "choose files by type: remove “accepts”.",
            pointer: "\(place)/accepts", file: file))
        continue
      }
      // Only the program itself knows its options.
      if stage.command != nil, plugins[stage.plugin] == nil { continue }
      guard let schema = plugins[stage.plugin] else {
        let known = plugins.keys.sorted()
        let hint = NearestName.hint(stage.plugin, among: known, kind: "plugins")
        problems.append(
          ConfigurationError(
            code: .unknownPlugin,
            message: "There is no plugin \(quoted(stage.plugin))\(hint)",
            pointer: "\(place)/plugin", file: file))
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
    let options = "\(place)/options"
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
          pointer: "\(place)/plugin", file: file)
      }
    }
  }

  /// What a stage's output depends on in addition to the bytes.
  private struct Work: Hashable {
    var plugin: String
    var command: [String]?
    var options: JSONValue
    var needs: [String]
    var input: [RenditionReference]
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
  private func sameWork(
    among indexes: [Int], plugins: [String: JSONValue], needs: (StageConfiguration) -> [String]
  ) -> [ConfigurationError] {
    var first: [Work: String] = [:]
    var problems: [ConfigurationError] = []
    for index in indexes {
      let stage = stages[index]
      let work = Work(
        plugin: stage.plugin, command: stage.command,
        options: stage.options.removingDefaults(plugins[stage.plugin] ?? [:]),
        needs: needs(stage).sorted(), input: stage.input)
      guard let other = first[work] else {
        first[work] = stage.name
        continue
      }
      problems.append(
        ConfigurationError(
          code: .sameWork,
          message: "The stages \(quoted(other)) and \(quoted(stage.name)) do the same; remove one, "
            + "or change its options.",
          pointer: "/stages/\(index)", file: file))
    }
    return problems
  }
}

extension PipelineConfiguration {
  /// Finds inputs that no stage makes, as far as plugins say what they make.
  ///
  /// - Parameter renditions: returns the names of a stage's renditions; `nil` if they are not known,
  ///   and none if its plugin makes none.
  package func inputProblems(
    renditions: (StageConfiguration) -> [String]?
  ) -> [ConfigurationError] {
    var problems: [ConfigurationError] = []
    for (index, stage) in stages.enumerated() {
      for (position, input) in stage.input.enumerated() {
        guard let maker = stages.first(where: { $0.name == input.stage }),
          let names = renditions(maker), !names.contains(input.name)
        else { continue }
        let message =
          names.isEmpty
          ? "The stage \(quoted(maker.name)) makes no renditions."
          : "The stage \(quoted(maker.name)) makes no rendition \(quoted(input.name))"
            + NearestName.hint(input.name, among: names, kind: "renditions")
        problems.append(
          ConfigurationError(
            code: .unknownRendition, message: message,
            pointer: StageConfiguration.inputPlace(
              position, ofStage: index, isList: stage.input.count > 1),
            file: file))
      }
    }
    return problems
  }
}

extension StageConfiguration {
  /// The JSON pointer of a rendition in `input`, which is a list or a single one.
  static func inputPlace(_ position: Int, ofStage index: Int, isList: Bool) -> String {
    "/stages/\(index)/input" + (isList ? "/\(position)" : "")
  }
}

extension ConfigurationError {
  /// A problem of a plugin's option schema, as a sentence about the plugin.
  fileprivate func ofSchema(plugin: String) -> String {
    "The plugin \(quoted(plugin)) has a schema that can't be used. \(message) Its place in the "
      + "schema is \(quoted(pointer ?? ""))."
  }
}

extension OptionSchema {
  /// Why a plugin's option schema can't be used, as sentences; `nil` if it can.
  package static func fault(in schema: JSONValue, ofPlugin plugin: String) -> String? {
    do {
      _ = try OptionSchema(schema)
      return nil
    } catch {
      return error.errors.map { $0.ofSchema(plugin: plugin) }.joined(separator: " ")
    }
  }
}
