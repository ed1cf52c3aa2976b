import Containers
import Glibc
import PipelinePlugin

/// Copies a part of a file into a file of its own.
struct FilmCopy {
  let file: InputFile
  let range: Range<Int>

  private static let block = 1 << 20

  /// Writes a new file, a block at a time.
  ///
  /// - Throws: `PluginFailure` of class `transient`; the program removes what was written.
  func write(to path: String, isCancelled: () -> Bool) throws(PluginFailure) {
    let output = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard output >= 0 else { throw Self.unwritable(errno) }
    do throws(PluginFailure) {
      var at = range.lowerBound
      while at < range.upperBound {
        if isCancelled() { throw PluginFailure(.transient, "The job was cancelled.") }
        let bytes = try read(at: at)
        try Self.write(bytes, to: output)
        at += bytes.count
      }
    } catch {
      close(output)
      throw error
    }
    // Network file systems and quotas report missing space at close.
    guard close(output) == 0 else { throw Self.unwritable(errno) }
  }

  private func read(at offset: Int) throws(PluginFailure) -> [UInt8] {
    let bytes: [UInt8]
    do throws(InputFile.Failure) {
      bytes = try file.read(at: offset, count: min(Self.block, range.upperBound - offset))
    } catch {
      throw PluginFailure(.transient, error.message + ".")
    }
    guard !bytes.isEmpty else {
      throw PluginFailure(.transient, "The file became shorter while it was read.")
    }
    return bytes
  }

  private static func write(_ bytes: [UInt8], to output: Int32) throws(PluginFailure) {
    var done = 0
    while done < bytes.count {
      let wrote = bytes.withUnsafeBytes { buffer in
        Glibc.write(output, buffer.baseAddress?.advanced(by: done), buffer.count - done)
      }
      let number = errno
      if wrote < 0, number == EINTR { continue }
      guard wrote > 0 else { throw unwritable(wrote == 0 ? EIO : number) }
      done += wrote
    }
  }

  private static func unwritable(_ number: Int32) -> PluginFailure {
    PluginFailure(.transient, "The film can't be written: \(String(cString: strerror(number))).")
  }
}
