import Glibc
import PipelineModel

extension Descriptor {
  /// Refuses a folder in which another user could put files where this program writes or removes.
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
          + "could redirect what is written and removed there. Run the program as that user, or "
          + "take ownership by `chown -R`; where the mount sets owners, as on SMB, by its option "
          + "uid.", path: path)
    }
    guard let others = try access.others(status, at: self) else { return }
    throw FileError(
      .untrusted,
      "\(what) “\(path.printable)” may be written by \(others), who could redirect what is written "
        + "and removed there. Run chmod go-w on it, or, where the mount sets modes, as on SMB or "
        + "exFAT, mount it with umask=077 or dir_mode=0700.", path: path)
  }
}
