package import PipelineModel

/// The names in a library folder.
package struct LibraryLayout: Hashable, Sendable {
  /// The library's folder, absolute.
  package let root: BytePath
  /// The folder of the catalog: the library itself unless configured elsewhere.
  package let catalogFolder: BytePath

  package init(root: BytePath, catalogFolder: BytePath? = nil) {
    self.root = root
    self.catalogFolder = catalogFolder ?? root
  }

  /// The marker that a folder is a library.
  package static let marker = BytePath("library.json")
  /// The lock held by the process that works on the library.
  package static let lock = BytePath("lock")
  /// The socket on which this process listens for requests.
  package static let control = BytePath("control")
  static let folders = lastingFolders + ["renditions", "incoming", "work"]
  /// Folders with irreplaceable content.
  static let lastingFolders = ["manifest", "originals"]
  /// Folders made when needed.
  static let occasionalFolders = ["duplicates", "damaged"]

  package var manifest: BytePath { root.appending("manifest") }
  package var catalog: BytePath { catalogFolder.appending("catalog.sqlite") }
  package var originals: BytePath { root.appending("originals") }
  package var renditions: BytePath { root.appending("renditions") }
  package var incoming: BytePath { root.appending("incoming") }
  package var work: BytePath { root.appending("work") }
  package var duplicates: BytePath { root.appending("duplicates") }
  package var damaged: BytePath { root.appending("damaged") }
}
