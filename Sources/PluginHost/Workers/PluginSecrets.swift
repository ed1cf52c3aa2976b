package import Configuration
import Files
import Glibc
import PipelineModel

/// Paths that don't become readable by being near a plugin's own file, nor by being in a folder
/// that does.
package struct PluginSecrets: Hashable, Sendable {
  /// The library, its catalog and the configuration's folder.
  let secrets: [BytePath]
  /// Sources and home folders.
  let personal: [BytePath]

  /// Collects the paths that a configuration names, and home folders.
  package init(_ configuration: PipelineConfiguration? = nil) {
    let named = configuration.map { [$0.library, $0.folder] + [$0.catalog].compactMap(\.self) }
    secrets = (named ?? []).map(Self.real)
    personal = (configuration?.sources.map(\.path) ?? []).map(Self.real) + Self.homes
  }

  /// Whether a folder contains any of these paths.
  ///
  /// - Parameter folder: a path without links.
  func contains(inside folder: BytePath) -> Bool {
    (secrets + personal).contains { $0 == folder || $0.relative(to: folder) != nil }
  }

  /// The path with links resolved; unchanged if nothing exists there.
  static func real(_ path: BytePath) -> BytePath {
    do throws(FileError) {
      return try FileSystem.realPath(of: path)
    } catch {
      return path
    }
  }

  /// The home folders of the user, of root, and in the usual places.
  private static let homes: [BytePath] = {
    var found: [BytePath] = ["/root", "/home"]
    if let home = getenv("HOME") { found.append(BytePath(cString: home)) }
    for folder: BytePath in ["/home", "/var/home"] {
      // If the folder can't be listed, make do with the known homes.
      let entries = (try? Descriptor.openFolder(folder).entries()) ?? []
      found += entries.map { folder.appending($0.name) }
    }
    return found.filter(\.isAbsolute).map(real)
  }()
}
