package import Files
import ObjectStorage
package import PipelineModel

/// Tries whether a bucket can keep files, before there is a library.
package struct BucketTrial {
  /// The server's address.
  package let server: String
  /// The library that the place belongs to, if it is one's.
  package let owner: String?

  /// Stores, reads, lists and removes a small object beside what is there.
  ///
  /// - Parameters:
  ///   - contents: what is to be kept there.
  ///   - mustBeUnused: whether a place with anything that is no library's is refused, as a new library does.
  /// - Throws: `FileError` of code `unavailable` that says what is wrong, or missing.
  package init(
    _ location: BucketLocation, for contents: String, mustBeUnused: Bool
  ) throws(FileError) {
    let bucket = OwnedBucket(location, for: contents, identity: "doctor", isStopped: { false })
    try bucket.probe()
    server = try bucket.server()
    owner = try mustBeUnused ? bucket.ownerOfUsed() : bucket.owner()
  }
}
