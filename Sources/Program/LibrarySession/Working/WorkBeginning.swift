import Catalog
import Configuration
import Ingest
package import PipelineModel

/// What `work` says of itself when it begins.
///
/// Stages that it can't work on are told of after that, each with its reason.
package struct WorkBeginning: Hashable, Sendable {
  /// The library's folder, or that of this machine's work.
  package let folder: BytePath
  /// Where the catalog is, which never has a password.
  package let catalog: String
  /// The names of the configured stages.
  package let stages: [String]

  init(_ setup: LibrarySetup) {
    folder = setup.layout.root
    catalog = setup.layout.catalogPlace.name.printable
    stages = setup.configuration.stages.map(\.name)
  }
}
