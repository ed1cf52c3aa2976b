internal import Glibc
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

  /// Lists all plugins that can be found, sorted by id, without loading any.
  ///
  /// - Throws: `PluginFailure` of class `environment` if a configured folder can't be read or is
  ///   writable by others. Built-in folders may be missing.
  package func all() throws(PluginFailure) -> [Found] { try all(upTo: nil) }

  /// Whether all folders can be read and none has the plugin.
  package func hasNo(_ id: String) -> Bool {
    // A folder that can't be read might contain it.
    (try? all())?.contains { $0.id == id } == false
  }

  /// Lists plugins.
  ///
  /// - Parameter wanted: stops at the first folder that has this plugin; `nil` searches all.
  private func all(upTo wanted: String?) throws(PluginFailure) -> [Found] {
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
    guard let handle = opendir(folder.bytes.map { CChar(bitPattern: $0) } + [0]) else {
      let number = errno
      if !mustExist { return [] }
      throw PluginFailure(
        .environment,
        "The folder of plugins \(folder.printable) can't be read: "
          + "\(String(cString: strerror(number))).")
    }
    defer { closedir(handle) }
    var names: [BytePath] = []
    while let entry = readdir(handle) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        BytePath(bytes: bytes.prefix { $0 != 0 })
      }
      names.append(name)
    }
    return names
  }
}
