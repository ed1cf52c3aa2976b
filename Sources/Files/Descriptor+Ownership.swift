import Glibc
package import PipelineModel

extension Descriptor {
  /// Refuses a folder in which somebody else could put a link or a file of his own where this
  /// program writes and removes.
  ///
  /// - Parameter what: what messages call it, such as “The library”.
  /// - Throws: `FileError` of code `untrusted`.
  package func requireOwn(_ what: String) throws(FileError) {
    let access = WriteAccess()
    let status = try status()
    let owner = access.owner(of: status)
    guard owner == .user else {
      throw FileError(
        .untrusted,
        "\(what) “\(path.printable)” belongs to \(owner.words), not to you (\(geteuid())), who "
          + "could lead what is written and removed there to other folders. Run the program as that "
          + "user, or give it to you by `chown -R`; where owners come from the mount, as on SMB, by "
          + "its option uid.", path: path)
    }
    guard let others = try access.others(status, at: self) else { return }
    throw FileError(
      .untrusted,
      "\(what) “\(path.printable)” may be written by \(others), who could lead what is written and "
        + "removed there to other folders. Run chmod go-w on it, or, where modes come from the mount, "
        + "as on SMB or exFAT, mount it with umask=077 or dir_mode=0700.", path: path)
  }
}
