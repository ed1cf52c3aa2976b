import PipelineModel
package import Records

/// Which stages a process works on beside the one that has the library's lock.
extension Catalog {
  /// Returns the stages that this process may work on, of those that it is configured with; with the reason why not.
  ///
  /// From now on, it claims jobs of those only, and as long as they stay the same.
  ///
  /// - Parameter removesFiles: whether it can remove files that are discarded; otherwise they are left to others.
  package func work(
    on stages: [StageDefinition], removesFiles: Bool = true
  ) throws(CatalogError) -> [(stage: StageDefinition, refusal: String?)] {
    try write { (writer) throws(CatalogError) in
      var own: [String: OwnStage] = [:]
      for stage in stages {
        own[stage.name] = OwnStage(
          fingerprint: stage.fingerprint,
          runtime: try writer.rowID(
            "SELECT id FROM runtime WHERE versions = ? AND limits = ?",
            "INSERT INTO runtime (versions, limits) VALUES (?, ?)", [stage.runtime, stage.limits]))
      }
      writer.ownStages = own
      writer.ownDefinitions = stages
      writer.removesFiles = removesFiles
      writer.comparedGeneration = writer.generation
      return try writer.refuseStages()
    }
  }

  /// Whether the library's stages have changed since this process compared them with its own.
  package func hasOtherStages() throws(CatalogError) -> Bool {
    try access.sync { (writer) throws(CatalogError) in
      writer.generation != writer.comparedGeneration
    }
  }

  /// The same, without a change.
  package func refusals(
    of stages: [StageDefinition]
  ) throws(CatalogError) -> [(stage: StageDefinition, refusal: String?)] {
    try access.sync { (writer) throws(CatalogError) in try writer.refusals(of: stages) }
  }
}

extension CatalogWriter {
  /// Compares the stages of this process with those of the library, and claims no jobs of those that are refused.
  @discardableResult
  func refuseStages() throws(CatalogError) -> [(stage: StageDefinition, refusal: String?)] {
    let all = try refusals(of: ownDefinitions)
    refusedStages = Set(all.filter { $0.refusal != nil }.map(\.stage.name))
    return all
  }

  fileprivate func refusals(
    of stages: [StageDefinition]
  ) throws(CatalogError) -> [(stage: StageDefinition, refusal: String?)] {
    let text = try connection.first(Setting.read, Setting.stages) { $0.text(0) } ?? "[]"
    let recorded = StageDefinition.all(json: text)
    return stages.map { stage in
      (stage, stage.refusal(comparedWith: recorded.first { $0.name == stage.name }))
    }
  }
}

extension StageDefinition {
  /// Why a process that is configured with this stage can't work on it for a library that has recorded another one.
  fileprivate func refusal(comparedWith recorded: StageDefinition?) -> String? {
    guard let recorded else { return "The library has no stage of this name." }
    if recorded.plugin != plugin {
      return
        "The library has it with the plugin “\(recorded.plugin)”, this process with “\(plugin)”."
    }
    guard recorded.fingerprint != fingerprint else { return lack(comparedWith: recorded) }
    let own = runtime.split(separator: ";").first.map(String.init) ?? ""
    let other = recorded.runtime.split(separator: ";").first.map(String.init) ?? ""
    if Set(recorded.needs) != Set(needs) { return "It needs other stages than in the library." }
    if let options, let others = recorded.options,
      let difference = JSONDifference.first(between: options, others)
    {
      return
        "Its option “\(difference.pointer)” is \(Self.words(difference.first)) here, and "
        + "\(Self.words(difference.second)) in the library."
    }
    return own == other
      ? "Its options or its input, or those of a stage that it needs, differ from the library's."
      : "Its plugin, or a stage that it needs, differs from the library's, which has \(other). Here it is \(own)."
  }

  /// A value of an option for people.
  private static func words(_ value: JSONValue?) -> String {
    guard let value else { return "not set" }
    let text = (try? JSONText.encode(value)) ?? "?"
    return text.count > 80 ? "\(text.prefix(80))…" : text
  }

  /// Why a process whose plugin lacks decoders can't do all jobs.
  private func lack(comparedWith recorded: StageDefinition) -> String? {
    guard let accepts else { return nil }
    guard let others = recorded.accepts else { return "Here, its plugin accepts some types only." }
    let missing = Set(others).subtracting(accepts).sorted()
    guard !missing.isEmpty else { return nil }
    return
      "Here, its plugin does not accept \(missing.joined(separator: ", ")). `pipeline doctor` names decoders "
      + "that are missing."
  }
}
