import Glibc
import Vips

/// A job's output folder, and the files created in it so far.
final class OutputFolder {
  private let path: String
  private var names: [String] = []

  init(_ path: String) { self.path = path }

  /// Writes a new file; removes it if it can't be written completely.
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
    // Network file systems and quotas report missing space at close.
    guard close(descriptor) == 0 else { throw Self.failure(name, errno) }
  }

  /// Removes the files created so far, so that a failed job leaves nothing.
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
