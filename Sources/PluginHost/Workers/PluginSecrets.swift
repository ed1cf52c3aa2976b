package import Configuration
import Files
import Glibc
import PipelineModel

/// What no plugin may read because it is near it: neither a folder that holds some of it, nor the
/// thing itself.
package struct PluginSecrets: Hashable, Sendable {
  /// The library, its catalog and the configuration's folder.
  let secrets: [BytePath]
  /// Sources, and homes of people.
  let personal: [BytePath]

  /// Those that any plugin has: homes, and what a configuration names.
  package init(_ configuration: PipelineConfiguration? = nil) {
    let named = configuration.map { [$0.library, $0.folder] + [$0.catalog].compactMap(\.self) }
    secrets = (named ?? []).map(Self.real)
    personal = (configuration?.sources.map(\.path) ?? []).map(Self.real) + Self.homes
  }

  /// Whether some of it can be read by who can read a folder.
  ///
  /// - Parameter folder: a path without links.
  func contains(inside folder: BytePath) -> Bool {
    (secrets + personal).contains { $0 == folder || $0.relative(to: folder) != nil }
  }

  /// The path without links, which the kernel follows; as it is where there is nothing yet.
  static func real(_ path: BytePath) -> BytePath {
    do throws(FileError) {
      return try FileSystem.realPath(of: path)
    } catch {
      return path
    }
  }

  /// The user's own home, root's, and those that are where homes usually are.
  private static let homes: [BytePath] = {
    var found: [BytePath] = ["/root", "/home"]
    if let home = getenv("HOME") { found.append(BytePath(cString: home)) }
    for folder: BytePath in ["/home", "/var/home"] {
      // Where that can't be listed, what is known has to do.
      let entries = (try? Descriptor.openFolder(folder).entries()) ?? []
      found += entries.map { folder.appending($0.name) }
    }
    return found.filter(\.isAbsolute).map(real)
  }()
}
