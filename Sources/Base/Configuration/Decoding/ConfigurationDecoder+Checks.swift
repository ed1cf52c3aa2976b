import PipelineModel

extension ConfigurationDecoder {
  /// Checks that sources, writable folders, the library and the catalog don't overlap.
  ///
  /// It compares names only; symbolic links are resolved when the folders are opened.
  mutating func checkFolders(of configuration: PipelineConfiguration) {
    var ours: [(what: String, path: BytePath)] = []
    if !configuration.library.isEmpty { ours.append(("the library", configuration.library)) }
    if let catalog = configuration.catalog?.folder { ours.append(("the catalog", catalog)) }

    let sources = configuration.sources
    // A source without a path has been reported.
    for (index, source) in sources.enumerated() where !source.path.isEmpty {
      let place = "/sources/\(index)/path"
      for other in sources[..<index] where !other.path.isEmpty {
        checkOverlap("the source", source.path, "another source", other.path, at: place)
      }
      for folder in ours {
        checkOverlap("the source", source.path, folder.what, folder.path, at: place)
      }
      checkMoving(source, configuration, at: place)
    }
    for (index, stage) in configuration.stages.enumerated() {
      for (position, path) in stage.allow.write.enumerated() {
        for folder in ours {
          checkOverlap(
            "what may be written", path, folder.what, folder.path,
            at: "/stages/\(index)/allow/write/\(position)")
        }
      }
    }
  }

  private mutating func checkOverlap(
    _ what: String, _ path: BytePath, _ otherWhat: String, _ other: BytePath, at pointer: String
  ) {
    let relation: String
    if path == other {
      relation = "is \(otherWhat), too"
    } else if path.relative(to: other) != nil {
      relation = "is inside \(otherWhat) \(quoted(other.description))"
    } else if other.relative(to: path) != nil {
      relation = "contains \(otherWhat) \(quoted(other.description))"
    } else {
      return
    }
    let subject = what.prefix(1).uppercased() + what.dropFirst()
    report(
      .overlap, "\(subject) \(quoted(path.description)) \(relation); they must be separate.",
      at: pointer)
  }

  /// Checks that a source in `move` mode does not remove files that the program needs.
  private mutating func checkMoving(
    _ source: SourceConfiguration, _ configuration: PipelineConfiguration, at place: String
  ) {
    guard source.mode == .move else { return }
    let rules = SourceRules(source)
    func isTaken(_ path: BytePath, isFolder: Bool) -> Bool {
      guard let relative = path.relative(to: source.path) else { return false }
      if !source.recursive && (isFolder || relative.components.count > 1) { return false }
      return rules.verdict(for: relative, isFolder: isFolder) == .accepted
    }
    let subject = "The source \(quoted(source.path.description))"
    if isTaken(file, isFolder: false) {
      report(
        .overlap,
        "\(subject) would remove this configuration; exclude it, or choose another folder.",
        at: place)
    }
    for folder in configuration.plugins
    where folder == source.path || isTaken(folder, isFolder: true) {
      report(
        .overlap,
        "\(subject) would remove the plugins in \(quoted(folder.description)); exclude them, or"
          + " choose another folder.",
        at: place)
    }
  }

  /// Checks that there is one rule for each kind of group at most.
  mutating func checkGroups(_ rules: [GroupRule]) {
    var kinds: Set<GroupKind> = []
    for (index, rule) in rules.enumerated() where !kinds.insert(rule.kind).inserted {
      // One without a kind has been reported.
      guard document.value["groups"]?.array?[index]["kind"]?.string == rule.kind.rawValue else {
        continue
      }
      report(
        .conflict, "An earlier rule is already for \(quoted(rule.kind.rawValue)); keep one.",
        at: "/groups/\(index)/kind")
    }
  }

  /// Checks the names of stages and what they need.
  mutating func checkGraph(of stages: [StageConfiguration]) {
    var first: [String: Int] = [:]
    // A stage without a name has been reported.
    for (index, stage) in stages.enumerated() where !stage.name.isEmpty {
      if first[stage.name] == nil {
        first[stage.name] = index
      } else {
        report(
          .duplicateStage, "An earlier stage is already named \(quoted(stage.name)).",
          at: "/stages/\(index)/name")
      }
    }
    let distinct = first.values.sorted().map { stages[$0] }
    for (index, stage) in stages.enumerated() {
      for (position, need) in stage.needs.enumerated() where first[need] == nil {
        let others = distinct.map(\.name).filter { $0 != stage.name }
        let hint = NearestName.hint(need, among: others, kind: "stages")
        report(
          .unknownStage, "There is no stage \(quoted(need))\(hint)",
          at: "/stages/\(index)/needs/\(position)")
      }
    }
    for (index, stage) in stages.enumerated() {
      for (position, input) in stage.input.enumerated() where first[input.stage] == nil {
        let others = distinct.map(\.name).filter { $0 != stage.name }
        let hint = NearestName.hint(input.stage, among: others, kind: "stages")
        report(
          .unknownStage, "There is no stage \(quoted(input.stage))\(hint)",
          at: inputPlace(position, ofStage: index))
      }
    }
    let nodes = distinct.map { StageGraph.Node(name: $0.name, needs: $0.allNeeds) }
    for cycle in StageGraph.cycles(in: nodes) {
      guard let index = first[cycle.from] else { continue }
      let place: String
      if let position = stages[index].needs.firstIndex(of: cycle.to) {
        place = "/stages/\(index)/needs/\(position)"
      } else {
        let position = stages[index].input.firstIndex { $0.stage == cycle.to }
        place = inputPlace(position ?? 0, ofStage: index)
      }
      report(
        .cycle,
        "These stages wait for each other: \(cycle.path.map(quoted).joined(separator: " → ")).",
        at: place)
    }
  }

  /// The place of a rendition in `input`, which may be a list or a single one.
  private func inputPlace(_ position: Int, ofStage index: Int) -> String {
    let isList = document.value["stages"]?.array?[index]["input"]?.array != nil
    return StageConfiguration.inputPlace(position, ofStage: index, isList: isList)
  }
}
