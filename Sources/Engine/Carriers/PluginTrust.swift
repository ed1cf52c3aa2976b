internal import Glibc
package import PipelineModel
package import PipelinePlugin

/// Whose files may be loaded as code.
package enum PluginTrust {
  /// Checks a library and the folder that it is in.
  package static func check(library path: BytePath) throws(PluginFailure) {
    try check(path.parent, kind: S_IFDIR, what: "The folder of plugins")
    try check(path, kind: S_IFREG, what: "The plugin")
  }

  /// Checks a program and the folder that it is in.
  package static func check(program path: BytePath) throws(PluginFailure) {
    try check(path.parent, kind: S_IFDIR, what: "The folder of the program")
    try check(path, kind: S_IFREG, what: "The program")
  }

  /// Checks a folder of plugins.
  package static func check(folder path: BytePath) throws(PluginFailure) {
    try check(path, kind: S_IFDIR, what: "The folder of plugins")
  }

  /// Who else can write it could run code with the rights of this program.
  private static func check(
    _ path: BytePath, kind: mode_t, what: String
  ) throws(PluginFailure) {
    var status = stat()
    let result = stat(path.bytes.map { CChar(bitPattern: $0) } + [0], &status)
    let number = errno
    guard result == 0 else {
      throw PluginFailure(
        .environment,
        "\(what) \(path.printable) can't be used: \(String(cString: strerror(number))).")
    }
    guard status.st_mode & S_IFMT == kind else {
      throw PluginFailure(
        .environment,
        "\(what) \(path.printable) is not a \(kind == S_IFDIR ? "folder" : "regular file").")
    }
    guard status.st_uid == 0 || status.st_uid == geteuid() else {
      throw PluginFailure(
        .environment,
        "\(what) \(path.printable) belongs to user \(status.st_uid), neither you nor root; "
          + "change its owner, or move the plugin to a folder of your own.")
    }
    guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
      throw PluginFailure(
        .environment,
        "\(what) \(path.printable) may be written by others; run chmod go-w on it.")
    }
  }
}
