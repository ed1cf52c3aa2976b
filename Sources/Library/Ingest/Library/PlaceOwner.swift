import Catalog
import Files
import ObjectStorage
import PipelineModel
import Records

/// The library that a database or a bucket belongs to, seen from a machine without that library's folder.
package struct PlaceOwner: Sendable {
  /// What of it is where, as a sentence.
  package let sentence: String
  /// What a new library would need instead.
  private let alternative: String

  /// Looks at all places of a layout, and changes nothing.
  ///
  /// - Returns: `nil` if a new library may have them.
  /// - Throws: `CatalogError`, `IngestError` or `FileError` if one can't be reached or read, or holds something else.
  package init?(of layout: LibraryLayout) throws {
    if layout.database != nil, let library = try Self.ownerOfCatalog(layout) {
      self.init("the catalog", of: library, in: layout.catalogPlace.name, or: "another database")
      return
    }
    let buckets = [
      (layout.bucket, contents: "originals", mustBeUnused: true),
      // Until that of renditions is corrected, stages are held; the library can be made.
      (layout.renditionBucket, contents: "renditions", mustBeUnused: false),
    ]
    for case (let location?, let contents, let mustBeUnused) in buckets {
      let bucket = OwnedBucket(location, for: contents, identity: "", isStopped: { false })
      guard let library = try Self.owner(of: bucket, mustBeUnused: mustBeUnused) else { continue }
      self.init("the \(contents)", of: library, in: BytePath(location.name), or: "another prefix")
      return
    }
    return nil
  }

  private static func owner(of bucket: OwnedBucket, mustBeUnused: Bool) throws -> String? {
    do throws(FileError) {
      return try mustBeUnused ? bucket.ownerOfUsed() : bucket.owner()
    } catch {
      throw error.code == .unavailable ? IngestError.storeAway(error) : error
    }
  }

  private static func ownerOfCatalog(_ layout: LibraryLayout) throws(CatalogError) -> String? {
    do throws(CatalogError) {
      return try Catalog.libraryID(of: layout.catalogPlace)
    } catch {
      guard error.code == .missing else { throw error }
      return nil
    }
  }

  private init(
    _ contents: String, of library: String, in place: BytePath, or alternative: String
  ) {
    sentence = "“\(place.printable)” has \(contents) of the library \(library)."
    self.alternative = alternative
  }

  /// Why no library is made.
  func refusal(_ layout: LibraryLayout) -> IngestError {
    var parts = [
      sentence,
      "Its folder is not at “\(layout.root.printable)”, so nothing was made. If it is on a disk, mount that.",
    ]
    if layout.database != nil, layout.bucket != nil {
      parts.append(
        "If another machine has it, set \"joins\" in \"node\", or use `pipeline work`.")
    }
    let restored = layout.bucket == nil ? "" : ", or with `pipeline restore-library`"
    parts.append("If it is lost, put it back from a backup\(restored).")
    parts.append("A new library needs \(alternative).")
    return IngestError(.notALibrary, parts.joined(separator: " "), path: layout.root)
  }
}
