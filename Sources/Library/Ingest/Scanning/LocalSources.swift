package import Configuration
import PipelineModel

/// The sources of this machine, by the paths that are recorded of them.
package struct LocalSources: Sendable {
  private let layout: LibraryLayout
  private let configured: [SourceConfiguration]

  /// - Parameter configured: those of the configuration; only shared ones matter.
  package init(_ layout: LibraryLayout, configured: [SourceConfiguration]) {
    self.layout = layout
    self.configured = configured
  }

  /// The source that is recorded so; what was named to `import` has the path `/`.
  ///
  /// - Throws: `IngestError` of code `source` if it is that of another machine.
  func source(_ recorded: BytePath) throws(IngestError) -> SourceConfiguration {
    if let name = MachinePath.sharedName(of: recorded) {
      guard let source = configured.first(where: { $0.shared == name }) else {
        throw Self.refusal(
          recorded, MachinePath.place(of: recorded), "on a machine that takes its files")
      }
      return source
    }
    let path = layout.machine.map { MachinePath.path(recorded, of: $0) } ?? recorded
    guard let path, MachinePath.machine(of: path) == nil else {
      throw Self.refusal(recorded, MachinePath.place(of: recorded), "there")
    }
    return SourceConfiguration(path: path)
  }

  /// The path of the source that is recorded so; `nil` if it is that of another machine.
  func path(of recorded: BytePath) -> BytePath? { try? source(recorded).path }

  private static func refusal(
    _ recorded: BytePath, _ place: String?, _ there: String
  ) -> IngestError {
    IngestError(
      .source,
      "It came from \(place ?? "the machine with the library's own folder"). Undo the run \(there), or `pipeline get ID "
        + "-o FILE` writes a copy here.", path: recorded)
  }
}
