import PipelineModel

extension ConfigurationDecoder {
  /// Decodes a source; returns `nil` if it has no usable path.
  mutating func source(_ field: Field) -> SourceConfiguration? {
    let fields = Fields<SourceKey>(field)
    let path = path(fields[.path])
    var source = SourceConfiguration(path: path ?? BytePath(""))
    if let mode = choice(fields[.mode], as: SourceConfiguration.Mode.self) { source.mode = mode }
    if let recursive = flag(fields[.recursive]) { source.recursive = recursive }
    if let settle = duration(fields[.settle]) { source.settle = settle }
    if let complete = choice(fields[.complete], as: SourceConfiguration.Completion.self) {
      source.complete = complete
    }
    if let include = fields[.include] { source.include = list(include) { $0.glob($1) } }
    source.exclude = list(fields[.exclude]) { $0.glob($1) }
    if let duplicates = choice(fields[.duplicates], as: SourceConfiguration.Duplicates.self) {
      source.duplicates = duplicates
    }
    if let take = choice(fields[.take], as: SourceConfiguration.TransferMode.self) {
      source.take = take
    }
    if let folders = choice(fields[.emptyFolders], as: SourceConfiguration.EmptyFolders.self) {
      source.emptyFolders = folders
    }
    if let share = share(fields[.maxMissing]) { source.maxMissing = share }
    return path == nil ? nil : source
  }
}
