/// Distinguishes states of a file without reading it.
///
/// Leaves out the device number, which changes when a disk is remounted.
public struct FileIdentity: Hashable, Sendable {
  /// The inode number.
  public var inode: UInt64
  /// The size in bytes.
  public var size: Int
  /// The modification time in nanoseconds since 1970.
  public var modified: Int64
  /// The status change time in nanoseconds since 1970; most file systems change it on rename.
  public var changed: Int64

  /// Creates an identity.
  public init(inode: UInt64, size: Int, modified: Int64, changed: Int64) {
    self.inode = inode
    self.size = size
    self.modified = modified
    self.changed = changed
  }

  /// Whether inode, size and modification time, which survive a rename, are equal.
  public func isSameFile(as other: FileIdentity) -> Bool {
    inode == other.inode && size == other.size && modified == other.modified
  }
}
