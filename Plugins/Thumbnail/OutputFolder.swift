import Glibc
import Vips

/// The folder of one job, and the files made in it so far.
final class OutputFolder {
  private let path: String
  private var names: [String] = []

  init(_ path: String) { self.path = path }

  /// Writes a new file in one go; a file that can't be written whole is removed.
  func write(_ bytes: [UInt8], as name: String) throws(VipsError) {
    let descriptor = open(
      "\(path)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    let number = errno
    guard descriptor >= 0 else { throw Self.failure(name, number) }
    names.append(name)
    var done = 0
    while done < bytes.count {
      let wrote = bytes.withUnsafeBytes { buffer in
        Glibc.write(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done)
      }
      let number = errno
      if wrote > 0 {
        done += wrote
      } else if number != EINTR {
        close(descriptor)
        throw Self.failure(name, wrote == 0 ? EIO : number)
      }
    }
    // Network file systems and quotas report at close what did not fit.
    guard close(descriptor) == 0 else { throw Self.failure(name, errno) }
  }

  /// Removes the files made so far, so that a failed job leaves nothing.
  func removeAll() {
    // Clean-up: the host empties the folder as well.
    for name in names { unlink("\(path)/\(name)") }
    names = []
  }

  private static func failure(_ name: String, _ number: Int32) -> VipsError {
    VipsError(
      .inputOutput, "The thumbnail \(name) can't be written: \(String(cString: strerror(number)))",
      errno: number)
  }
}
