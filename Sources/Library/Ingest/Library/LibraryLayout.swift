package import Catalog
package import Configuration
import Files
package import PipelineModel
import Renditions

/// The names in a library folder.
package struct LibraryLayout: Hashable, Sendable {
  /// The library's folder, absolute.
  package let root: BytePath
  /// The folder of the catalog: the library itself unless configured elsewhere.
  package let catalogFolder: BytePath
  /// The database that has the catalog instead of a file; `nil` for a file in the catalog's folder.
  package let database: DatabaseLocation?
  /// Where the configuration has originals, if not in the library; `nil` for wherever the library says.
  package let bucket: BucketLocation?
  /// Where the configuration has renditions that the database does not keep; `nil` for the library's folder.
  package let renditionBucket: BucketLocation?
  /// The most bytes of local copies of what is in a bucket.
  package let originalsCache: Int
  /// The name of this machine, if it joins a library whose folder another one has.
  package let machine: String?

  /// The default of `originalsCache`: some 2,000 photographs.
  package static let standardOriginalsCache = 10 << 30

  package init(
    root: BytePath, catalogFolder: BytePath? = nil, database: DatabaseLocation? = nil,
    bucket: BucketLocation? = nil, renditionBucket: BucketLocation? = nil,
    originalsCache: Int = Self.standardOriginalsCache, machine: String? = nil
  ) {
    self.root = root
    self.catalogFolder = catalogFolder ?? root
    self.database = database
    self.bucket = bucket
    self.renditionBucket = renditionBucket
    self.originalsCache = originalsCache
    self.machine = machine
  }

  /// A path of this machine as it is recorded.
  package func recorded(_ path: BytePath) -> BytePath {
    machine.map { MachinePath.path(path, on: $0) } ?? path
  }

  /// The folder of a source as it is recorded.
  package func recorded(_ source: SourceConfiguration) -> BytePath {
    source.shared.map { MachinePath.sharedPath($0) } ?? recorded(source.path)
  }

  /// The path on this machine that is recorded so; what is recorded of another machine stays as it is.
  package func local(_ recorded: BytePath) -> BytePath {
    machine.flatMap { MachinePath.path(recorded, of: $0) } ?? recorded
  }

  /// The same library with its originals wherever it says that they are.
  package var withoutBucket: LibraryLayout {
    LibraryLayout(
      root: root, catalogFolder: catalogFolder, database: database,
      renditionBucket: renditionBucket, originalsCache: originalsCache)
  }

  /// The same library with its catalog elsewhere: in a folder, or a database; with neither, in its own folder.
  package func withCatalog(
    in folder: BytePath?, or database: DatabaseLocation?
  ) -> LibraryLayout {
    LibraryLayout(
      root: root, catalogFolder: folder, database: database, bucket: bucket,
      renditionBucket: renditionBucket, originalsCache: originalsCache)
  }

  /// The marker that a folder is a library.
  package static let marker = BytePath("library.json")
  /// The lock held by the process that works on the library.
  package static let lock = BytePath("lock")
  /// The socket on which this process listens for requests.
  package static let control = BytePath("control")
  static let folders = lastingFolders + ["renditions", incomingFolder, "work"]
  /// The folder of files on their way to the store.
  static let incomingFolder = "incoming"
  /// Folders with irreplaceable content.
  static let lastingFolders = ["manifest", "originals"]
  /// Folders made when needed.
  static let occasionalFolders = ["duplicates", "damaged"]

  package var manifest: BytePath { root.appending("manifest") }
  package var catalog: BytePath { catalogFolder.appending("catalog.sqlite") }
  /// The catalog: its file, or the database in its place.
  package var catalogPlace: CatalogPlace {
    if let database { .database(database) } else { .file(catalog) }
  }
  /// The database of renditions, beside a catalog that is a file.
  package var renditionDatabase: BytePath { catalogFolder.appending("renditions.sqlite") }
  package var originals: BytePath { root.appending("originals") }
  package var renditions: BytePath { root.appending(RenditionLayout.root) }
  package var incoming: BytePath { root.appending(Self.incomingFolder) }
  package var work: BytePath { root.appending("work") }
  package var duplicates: BytePath { root.appending("duplicates") }
  package var damaged: BytePath { root.appending("damaged") }

  /// All folders in the library's folder.
  package var parts: [BytePath] {
    (Self.folders + Self.occasionalFolders).map { root.appending($0) }
  }
}
