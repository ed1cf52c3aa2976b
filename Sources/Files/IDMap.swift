import Glibc
import PipelineModel

/// The user or group IDs that this process's user namespace maps.
///
/// Owners without an ID here all appear as one overflow ID. Source: user_namespaces(7).
struct IDMap: Hashable, Sendable {
  private let ranges: [Range<UInt64>]
  /// The ID shown for those that have none.
  private let overflow: UInt32

  static var users: IDMap { IDMap(named: "uid_map", overflow: "overflowuid") }
  static var groups: IDMap { IDMap(named: "gid_map", overflow: "overflowgid") }

  private init(named name: String, overflow: String) {
    // Without /proc, nobody counts as outside.
    let map = Self.read(BytePath("/proc/self/\(name)")) ?? "0 0 4294967295"
    let number = Self.read(BytePath("/proc/sys/kernel/\(overflow)")).flatMap {
      UInt32($0.prefix { $0.isNumber })
    }
    self.init(map, overflow: number ?? 65534)
  }

  /// Parses a map as the kernel writes it: first ID inside, first ID outside, count.
  init(_ map: String, overflow: UInt32) {
    ranges = map.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ").compactMap { UInt64($0) }
      return fields.count == 3 ? fields[0]..<fields[0] + fields[2] : nil
    }
    self.overflow = overflow
  }

  /// Whether an ID shown here stands for one without a mapping.
  func isOutside(_ id: UInt32) -> Bool {
    id == overflow && !ranges.contains { $0.contains(UInt64(id)) }
  }

  private static func read(_ path: BytePath) -> String? {
    // Unreadable counts as missing, which the caller handles.
    guard let file = try? Descriptor.open(path, flags: O_RDONLY),
      let bytes = try? file.readToEnd(limit: 1 << 16)
    else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}
