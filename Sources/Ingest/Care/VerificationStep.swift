/// What a verification is at, for people who wait for it.
package enum VerificationStep: Hashable, Sendable {
  /// So many originals and renditions were read.
  case files(Int)
  /// So many of the 256 folders of originals were compared with the records.
  case folders(Int)
  /// So many facts of the manifest were compared with the records.
  case facts(Int64, of: Int64)
  /// So many folders of renditions were compared with the records.
  case renditionFolders(Int)
}
