import Glibc
package import PipelineModel

extension Descriptor {
  /// Opens a regular file for reading; never blocks on anything else.
  ///
  /// - Throws: `FileError` of code `notRegular` for a link, a folder, a pipe, a socket or a device.
  package static func openRegular(
    _ name: BytePath, in folder: Descriptor
  ) throws(FileError) -> Descriptor {
    let file: Descriptor
    do throws(FileError) {
      // A pipe without a writer would otherwise block the caller.
      file = try open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    } catch {
      // The kernel's reason for a link or a socket says little.
      if let kind = try? folder.status(of: name).kind, kind != .regular {
        throw .notRegular(folder.path.appending(name), kind)
      }
      throw error
    }
    let kind = try file.status().kind
    guard kind == .regular else { throw .notRegular(file.path, kind) }
    return file
  }
}

extension FileError {
  /// The error of a path that is not a regular file.
  fileprivate static func notRegular(_ path: BytePath, _ kind: FileStatus.Kind) -> FileError {
    FileError(.notRegular, "“\(path.printable)” is \(kind.name) , not a regular file.", path: path)
  }
}

extension FileStatus.Kind {
  /// The kind with its article.
  fileprivate var name: String {
    switch self {
    case .regular: "a file"
    case .folder: "a folder"
    case .link: "a symbolic link"
    case .fifo: "a named pipe"
    case .socket: "a socket"
    case .device: "a device"
    }
  }
}
