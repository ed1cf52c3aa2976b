import Files
import Glibc
package import PipelineModel

/// Locates the configuration file, checks whether to trust it, and reads it.
package enum ConfigurationFile {
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
      place.withCString { access($0, F_OK) } == 0
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
    let place = try attempt("open", file) { () throws(FileError) in
      // Opening a FIFO must not block (open(2), O_NONBLOCK).
      try Descriptor.open(file, flags: O_RDONLY | O_NONBLOCK)
    }
    let reason = try attempt("examine", file) { () throws(FileError) in try distrust(place) }
    if let reason { throw ConfigurationError(code: .untrusted, message: reason, file: file) }
    return try attempt("read", file) { () throws(FileError) in
      try place.readToEnd(limit: greatestSize)
    }
  }

  /// The error of a file that is larger than `greatestSize`.
  static func tooLarge(_ file: BytePath) -> ConfigurationError {
    ConfigurationError(
      code: .tooLarge, message: "The configuration is larger than 1 MiB.", file: file)
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
    guard status.permissions & (S_IWGRP | S_IWOTH) != 0 else { return nil }
    // A group is refused whoever is in it: this file names programs to run, and nobody needs
    // to share it for writing.
    let writers = try access.others(status, at: place) ?? "its group"
    let mode = String(status.permissions, radix: 8)
    return "The configuration (mode \(mode)) is writable by \(writers), who could make the "
      + "program do anything in your name. Run chmod go-w on it."
  }

  private static func attempt<Result>(
    _ operation: String, _ file: BytePath, _ body: () throws(FileError) -> Result
  ) throws(ConfigurationError) -> Result {
    do throws(FileError) {
      return try body()
    } catch {
      // Only the limit of the size is not the kernel's.
      if error.errno == 0 { throw tooLarge(file) }
      let reason = String(cString: strerror(error.errno))
      throw ConfigurationError(
        code: .unreadable, message: "Can't \(operation) the configuration: \(reason).", file: file)
    }
  }
}

/// The configuration that `pipeline init` writes.
package enum InitialConfiguration {
  /// Returns a working `pipeline.json`: one watched folder, identification and two thumbnail sizes.
  ///
  /// - Parameters:
  ///   - library: The library's folder, relative to the file or absolute; by default `library`.
  ///   - inbox: The watched folder, likewise; by default `inbox`.
  ///   - readsMetadata: Whether a stage reads metadata, too; by default none does.
  package static func text(
    library: String = "library", inbox: String = "inbox", readsMetadata: Bool = false
  ) -> String {
    let metadata =
      readsMetadata
      ? #"\#n    { "name": "metadata", "plugin": "metadata", "timeout": "60s" },"# : ""
    return """
      {
        "$schema": "pipeline.schema.json",
        "library": \(JSONValue.string(library).formatted()),
        "sources": [
          { "path": \(JSONValue.string(inbox).formatted()), "mode": "move" }
        ],
        "stages": [
          { "name": "identify", "plugin": "identify", "timeout": "60s" },\(metadata)
          {
            "name": "thumbnails", "plugin": "thumbnail", "needs": ["identify"], "timeout": "60s",
            "options": {
              "sizes": [
                { "name": "grid", "maxPixelSize": 256 },
                { "name": "preview", "maxPixelSize": 1024 }
              ],
              "format": "jpeg",
              "quality": 80
            }
          }
        ]
      }

      """
  }
}
