/// A folder on one of several machines, as it is recorded: `//NAME/PATH`; or one that they share: `//shared:NAME`.
///
/// On the machine with the manifest a path stands for itself. Two slashes begin no path that this program opens:
/// configured paths are normalized.
package enum MachinePath {
  /// A folder of a machine.
  package static func path(_ path: BytePath, on machine: String) -> BytePath {
    let end = path == BytePath("/") ? [] : path.bytes
    return BytePath(bytes: Array("//\(machine)".utf8) + end)
  }

  /// The folder or file of a machine that is recorded so; `nil` for that of another.
  package static func path(_ recorded: BytePath, of machine: String) -> BytePath? {
    let prefix = Array("//\(machine)".utf8)
    guard recorded.bytes.starts(with: prefix) else { return nil }
    let rest = recorded.bytes.dropFirst(prefix.count)
    if rest.isEmpty { return BytePath("/") }
    return rest.first == UInt8(ascii: "/") ? BytePath(bytes: rest) : nil
  }

  private static let shared = "shared:"

  /// A folder that several machines reach, by its name.
  package static func sharedPath(_ name: String) -> BytePath { BytePath("//\(shared)\(name)") }

  /// The name of a folder that several machines reach; `nil` for any other.
  package static func sharedName(of recorded: BytePath) -> String? {
    guard let first = machine(of: recorded), first.hasPrefix(shared) else { return nil }
    return String(first.dropFirst(shared.count))
  }

  /// The machine that a recorded folder is on; `nil` for that with the manifest.
  package static func machine(of path: BytePath) -> String? {
    guard path.bytes.starts(with: "//".utf8) else { return nil }
    return path.components.first.map(\.description)
  }

  /// What a recorded folder is on, in words; `nil` for a folder of the machine with the manifest.
  package static func place(of path: BytePath) -> String? {
    if let name = sharedName(of: path) { return "the shared source “\(name)”" }
    return machine(of: path).map { "the machine “\($0)”" }
  }
}
