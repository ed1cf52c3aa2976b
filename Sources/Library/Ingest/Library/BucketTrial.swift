package import Files
import Originals
package import PipelineModel

/// Tries whether a bucket can keep originals, before there is a library.
package struct BucketTrial {
  /// The server's address.
  package let server: String

  /// Stores, reads, lists and removes a small object beside what is there.
  ///
  /// - Parameter folder: any folder that can be written.
  /// - Throws: `FileError` of code `unavailable` that says what is wrong, or missing.
  package init(_ bucket: BucketLocation, in folder: Descriptor) throws(FileError) {
    let store = BucketStore(
      bucket, library: folder, identity: "doctor", mayClaim: false, cacheBudget: 0,
      environment: CurrentProcess.environment(BucketStore.variables))
    try store.probe()
    server = try store.server()
  }
}
