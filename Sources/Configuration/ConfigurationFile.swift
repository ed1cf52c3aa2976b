import Files
import Glibc
package import PipelineModel

/// Locates the configuration file, checks whether to trust it, and reads it.
package enum ConfigurationFile {
  /// The maximum file size, in bytes.
  package static let greatestSize = 1 << 20

  /// Finds the configuration: `--config`, `$PIPELINE_CONFIG`, `pipeline.json` in the working
  /// folder, in `$XDG_CONFIG_HOME/pipeline` (or `~/.config/pipeline`), in `/etc/pipeline`.
  ///
  /// A file that the user names is returned even if it does not exist, so that a typing error is
  /// reported and no other file is used instead.
  ///
  /// - Parameters:
  ///   - explicit: The value of `--config`.
  ///   - workingFolder: An absolute path.
  /// - Returns: An absolute path, or `nil` if there is no configuration in any of these places.
  package static func locate(
    explicit: BytePath?, environment: [String: BytePath], workingFolder: BytePath
  ) -> BytePath? {
    if let explicit { return FileSystem.absolutePath(of: explicit, in: workingFolder) }
    if let named = environment["PIPELINE_CONFIG"], !named.isEmpty {
      return FileSystem.absolutePath(of: named, in: workingFolder)
    }
    return places(environment: environment, workingFolder: workingFolder).first { place in
      access(place.bytes.map { CChar(bitPattern: $0) } + [0], F_OK) == 0
    }
  }

  /// The places searched in this order if the user names none.
  package static func places(
    environment: [String: BytePath], workingFolder: BytePath
  ) -> [BytePath] {
    var places = [workingFolder.appending("pipeline.json").normalized]
    // The XDG Base Directory Specification 0.8 requires relative paths to be ignored.
    if let base = environment["XDG_CONFIG_HOME"], base.isAbsolute {
      places.append(base.appending("pipeline/pipeline.json").normalized)
    } else if let home = environment["HOME"], home.isAbsolute {
      places.append(home.appending(".config/pipeline/pipeline.json").normalized)
    }
    places.append(BytePath("/etc/pipeline/pipeline.json"))
    return places
  }

  /// Reads a configuration file that only a trusted owner can have written.
  ///
  /// It uses one descriptor throughout, so that the file read is the file checked.
  ///
  /// - Throws: `unreadable`, `untrusted` or `tooLarge`.
  package static func read(_ file: BytePath) throws(ConfigurationError) -> [UInt8] {
    guard !file.bytes.contains(0) else {
      throw ConfigurationError(
        code: .badPath, message: "The path of the configuration contains a NUL character.",
        file: file)
    }
    // Opening a FIFO must not block (open(2), O_NONBLOCK).
    let descriptor = retrying {
      open(file.bytes.map { CChar(bitPattern: $0) } + [0], O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    }
    guard descriptor.result >= 0 else { throw failure("open", descriptor.errno, file) }
    let place = Descriptor(takingOver: descriptor.result, path: file)
    let reason: String?
    do throws(FileError) {
      reason = try distrust(place)
    } catch {
      throw failure("examine", error.errno, file)
    }
    if let reason { throw ConfigurationError(code: .untrusted, message: reason, file: file) }
    return try contents(of: place.number, file: file)
  }

  /// Why a file is not trusted, or `nil`.
  private static func distrust(_ place: Descriptor) throws(FileError) -> String? {
    let status = try place.status()
    guard status.kind == .regular else { return "The configuration is not a file." }
    let access = WriteAccess()
    let owner = access.owner(of: status)
    guard owner == .user || owner == .root else {
      return "The configuration belongs to \(owner.words), not to you "
        + "(\(geteuid())) or root; its owner could make the program do anything in your name. "
        + "Copy it to a file of your own."
    }
    return try access.others(status, at: place).map { others in
      let mode = String(status.permissions, radix: 8)
      return "The configuration (mode \(mode)) is writable by \(others), who could make the "
        + "program do anything in your name. Run chmod go-w on it."
    }
  }

  private static func contents(
    of descriptor: Int32, file: BytePath
  ) throws(ConfigurationError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = retrying { Glibc.read(descriptor, &buffer, buffer.count) }
      guard count.result >= 0 else { throw failure("read", count.errno, file) }
      if count.result == 0 { return bytes }
      bytes += buffer[..<count.result]
      guard bytes.count <= greatestSize else {
        throw ConfigurationError(
          code: .tooLarge, message: "The configuration is larger than 1 MiB.", file: file)
      }
    }
  }

  private static func retrying<Result: SignedInteger>(
    _ call: () -> Result
  ) -> (result: Result, errno: Int32) {
    while true {
      let result = call()
      let number = errno
      if result >= 0 || number != EINTR { return (result, number) }
    }
  }

  private static func failure(
    _ operation: String, _ number: Int32, _ file: BytePath
  ) -> ConfigurationError {
    ConfigurationError(
      code: .unreadable,
      message: "Can't \(operation) the configuration: \(String(cString: strerror(number))).",
      file: file)
  }
}
