import PipelineModel

extension ConfigurationDecoder {
  /// Checks the names of stages and what they need.
  mutating func checkGraph(of stages: [Placed<StageConfiguration>]) {
    var first: [String: Placed<StageConfiguration>] = [:]
    for stage in stages {
      guard first[stage.value.name] != nil else {
        first[stage.value.name] = stage
        continue
      }
      report(
        .duplicateStage, "An earlier stage is already named \(quoted(stage.value.name)).",
        at: stage.pointer(StageKey.name))
    }
    let names = stages.map(\.value.name)
    for stage in stages {
      for (index, need) in stage.value.needs.enumerated() where first[need] == nil {
        let others = names.filter { $0 != stage.value.name }
        let hint = NearestName.hint(need, among: others, kind: "stages")
        report(
          .unknownStage, "There is no stage \(quoted(need))\(hint)" + (hint.last == "?" ? "" : "."),
          at: JSONPointer.appending(index, to: stage.pointer(StageKey.needs)))
      }
    }
    let nodes = names.indices.filter { names[..<$0].firstIndex(of: names[$0]) == nil }.map {
      StageGraph.Node(name: names[$0], needs: stages[$0].value.needs)
    }
    for cycle in StageGraph.cycles(in: nodes) {
      guard let stage = first[cycle.from],
        let index = stage.value.needs.firstIndex(of: cycle.to)
      else { continue }
      report(
        .cycle,
        "These stages wait for each other: \(cycle.path.map(quoted).joined(separator: " → ")).",
        at: JSONPointer.appending(index, to: stage.pointer(StageKey.needs)))
    }
  }
}
