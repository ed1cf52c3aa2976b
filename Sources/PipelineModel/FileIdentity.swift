/// What tells one state of a file from another without reading it.
///
/// The device number is left out: it changes when a disk is mounted again.
public struct FileIdentity: Hashable, Sendable {
  /// The inode number.
  public var inode: UInt64
  /// The size in bytes.
  public var size: Int
  /// The modification time in nanoseconds since 1970.
  public var modified: Int64
  /// The status change time in nanoseconds since 1970; a rename changes it on most file systems.
  public var changed: Int64

  /// Makes an identity.
  public init(inode: UInt64, size: Int, modified: Int64, changed: Int64) {
    self.inode = inode
    self.size = size
    self.modified = modified
    self.changed = changed
  }

  /// Whether inode, size and modification time are the same: all that survives a rename.
  public func isSameFile(as other: FileIdentity) -> Bool {
    inode == other.inode && size == other.size && modified == other.modified
  }
}
