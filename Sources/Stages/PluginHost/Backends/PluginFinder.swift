import Files
import Glibc
package import PipelineModel
package import PipelinePlugin

/// Finds plugin libraries.
///
/// The first folder that has a plugin wins: configured ones, then `lib/pipeline/plugins` next to
/// the program's folder, then the program's own folder, where a build puts them.
package struct PluginFinder: Sendable {
  /// A library that may hold a plugin; it has not been loaded.
  package struct Found: Hashable, Sendable {
    /// The plugin's id, from the file name.
    package let id: String
    /// The absolute path of the library.
    package let path: BytePath
    /// Why it won't be loaded, or `nil`.
    package let refusal: String?
  }

  /// The folders, in search order.
  package let folders: [BytePath]
  private let configured: Int

  /// Creates a finder.
  ///
  /// - Parameters:
  ///   - configured: absolute folders from `pipeline.json`.
  ///   - executable: the program's path; the running program's by default.
  package init(configured: [BytePath] = [], executable: BytePath? = PluginFinder.ownExecutable) {
    var folders = configured
    if let home = executable?.parent {
      folders.append(home.parent.appending("lib/pipeline/plugins"))
      folders.append(home)
    }
    self.folders = folders
    self.configured = configured.count
  }

  /// The path of the running program, from the kernel.
  package static var ownExecutable: BytePath? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let length = buffer.withUnsafeMutableBytes { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters -> Int in
        guard let start = characters.baseAddress else { return 0 }
        return readlink("/proc/self/exe", start, characters.count)
      }
    }
    return length > 0 ? BytePath(bytes: buffer.prefix(length)) : nil
  }

  /// Whether all folders can be read and none has the plugin.
  package func hasNo(_ id: String) -> Bool {
    // A folder that can't be read might contain it.
    (try? all())?.contains { $0.id == id } == false
  }

  /// Whether others could replace the first file that may be the plugin.
  package func isReplaceable(_ id: String) -> Bool {
    let paths = folders.map { $0.appending("libpipeline-\(id).so") }
    let first = paths.first { (try? FileSystem.status(of: $0)) != nil }
    return first.map(PluginTrust.isReplaceable) == true
  }

  /// Lists all plugins that can be found, sorted by id, without loading any.
  ///
  /// - Parameter wanted: stops at the first folder that has this plugin; `nil` searches all.
  /// - Throws: `PluginFailure` of class `environment` if a configured folder can't be read or is
  ///   writable by others. Built-in folders may be missing.
  package func all(upTo wanted: String? = nil) throws(PluginFailure) -> [Found] {
    var found: [String: Found] = [:]
    for (index, folder) in folders.enumerated() {
      if let wanted, found[wanted] != nil { break }
      let names = try list(folder, mustExist: index < configured)
      guard !names.isEmpty else { continue }
      var refusal: String?
      do throws(PluginFailure) {
        try PluginTrust.check(folder: folder)
      } catch {
        if index < configured { throw error }
        refusal = error.reason
      }
      for name in names.sorted() {
        guard let id = Self.identifier(name), found[id] == nil else { continue }
        let path = folder.appending(name)
        found[id] = Found(
          id: id, path: path, refusal: refusal ?? PluginTrust.refusal(library: path)?.reason)
      }
    }
    return found.values.sorted { $0.id < $1.id }
  }

  /// Finds one plugin.
  ///
  /// - Throws: `PluginFailure` of class `environment` if no folder has the plugin, or the first one
  ///   found must not be loaded.
  package func find(_ id: String) throws(PluginFailure) -> BytePath {
    guard let found = try all(upTo: id).first(where: { $0.id == id }) else {
      let places = folders.map(\.printable).joined(separator: ", ")
      throw PluginFailure(
        .environment, "There is no plugin “\(id)”: libpipeline-\(id).so is in none of \(places).")
    }
    if let refusal = found.refusal { throw PluginFailure(.environment, refusal) }
    return found.path
  }

  private static func identifier(_ name: BytePath) -> String? {
    guard let text = name.utf8, text.hasPrefix("libpipeline-"), text.hasSuffix(".so") else {
      return nil
    }
    let id = String(text.dropFirst("libpipeline-".count).dropLast(".so".count))
    return ManifestCheck.isIdentifier(id) ? id : nil
  }

  private func list(_ folder: BytePath, mustExist: Bool) throws(PluginFailure) -> [BytePath] {
    do throws(FileError) {
      return try Descriptor.openFolder(folder).entries().map(\.name)
    } catch {
      if !mustExist { return [] }
      throw PluginFailure(
        .environment,
        "The folder of plugins \(folder.printable) can't be read: "
          + "\(String(cString: strerror(error.errno))).")
    }
  }
}

/// Checks who can write to files that are loaded as code.
///
/// Anyone who can write to such a file, or to a folder above it, could run code with this program's
/// rights.
package enum PluginTrust {
  /// Checks a library and each folder above it.
  package static func check(library path: BytePath) throws(PluginFailure) {
    try translating(try TrustedPath.findFile(path, as: "The plugin"))
  }

  /// Why a library must not be loaded, or `nil`.
  static func refusal(library path: BytePath) -> PluginFailure? {
    do throws(PluginFailure) {
      try check(library: path)
      return nil
    } catch {
      return error
    }
  }

  /// Checks a program and each folder above it.
  package static func check(program path: BytePath) throws(PluginFailure) {
    try translating(try TrustedPath.findFile(path, as: "The program"))
  }

  /// Whether others could replace a file.
  package static func isReplaceable(_ path: BytePath) -> Bool {
    do throws(FileError) {
      _ = try TrustedPath.findFile(path, as: "The plugin")
      return false
    } catch {
      return error.code == .untrusted
    }
  }

  /// Checks a folder of plugins and each folder above it.
  package static func check(folder path: BytePath) throws(PluginFailure) {
    try translating(try TrustedPath.findFolder(path, as: "The folder of plugins"))
  }

  private static func translating(
    _ find: @autoclosure () throws(FileError) -> Descriptor
  ) throws(PluginFailure) {
    do throws(FileError) {
      _ = try find()
    } catch {
      throw PluginFailure(.environment, error.message)
    }
  }
}
