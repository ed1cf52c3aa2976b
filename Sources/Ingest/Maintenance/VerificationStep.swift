/// The progress of a verification.
package enum VerificationStep: Hashable, Sendable {
  /// This many originals and renditions were read.
  case files(Int)
  /// This many of the 256 folders of originals were compared with the records.
  case folders(Int)
  /// This many facts of the manifest were compared with the records.
  case facts(Int64, of: Int64)
  /// This many folders of renditions were compared with the records.
  case renditionFolders(Int)
}
