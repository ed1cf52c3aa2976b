import PipelineModel

extension ConfigurationDecoder {
  /// Checks that sources, writable folders, the library and the catalog don't overlap.
  ///
  /// It compares names only; symbolic links are resolved when the folders are opened.
  mutating func checkFolders(
    of configuration: PipelineConfiguration, sources: [Placed<SourceConfiguration>],
    stages: [Placed<StageConfiguration>]
  ) {
    var ours: [(what: String, path: BytePath)] = []
    if !configuration.library.isEmpty { ours.append(("the library", configuration.library)) }
    if let catalog = configuration.catalog { ours.append(("the catalog", catalog)) }

    for (index, source) in sources.enumerated() {
      let place = source.pointer(SourceKey.path)
      for other in sources[..<index] {
        checkOverlap(
          "the source", source.value.path, "another source", other.value.path, at: place)
      }
      for folder in ours {
        checkOverlap("the source", source.value.path, folder.what, folder.path, at: place)
      }
      checkMoving(source, configuration)
    }
    for stage in stages {
      let write = JSONPointer.appending(
        AllowKey.write.rawValue, to: stage.pointer(StageKey.allow))
      for (index, path) in stage.value.allow.write.enumerated() {
        for folder in ours {
          checkOverlap(
            "what may be written", path, folder.what, folder.path,
            at: JSONPointer.appending(index, to: write))
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
    _ source: Placed<SourceConfiguration>, _ configuration: PipelineConfiguration
  ) {
    guard source.value.mode == .move else { return }
    let place = source.pointer(SourceKey.path)
    let rules = SourceRules(source.value)
    func isTaken(_ path: BytePath, isFolder: Bool) -> Bool {
      guard let relative = path.relative(to: source.value.path) else { return false }
      if !source.value.recursive && (isFolder || relative.components.count > 1) { return false }
      return rules.verdict(for: relative, isFolder: isFolder) == .accepted
    }
    if isTaken(file, isFolder: false) {
      report(
        .overlap,
        "The source \(quoted(source.value.path.description)) would remove this configuration;"
          + " exclude it, or choose another folder.", at: place)
    }
    for folder in configuration.plugins
    where folder == source.value.path || isTaken(folder, isFolder: true) {
      report(
        .overlap,
        "The source \(quoted(source.value.path.description)) would remove the plugins in"
          + " \(quoted(folder.description)); exclude them, or choose another folder.",
        at: place)
    }
  }
}
