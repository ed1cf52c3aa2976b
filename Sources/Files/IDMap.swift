import Glibc
import PipelineModel

/// Which numbers of users, or of groups, the user namespace of this process has.
///
/// What belongs to somebody without a number here is shown with one that stands for all such.
/// Source: user_namespaces(7).
struct IDMap: Hashable, Sendable {
  private let ranges: [Range<UInt64>]
  /// The number that is shown for those that have none.
  private let overflow: UInt32

  /// Reads the numbers of users of this process.
  static var users: IDMap { IDMap(named: "uid_map", overflow: "overflowuid") }
  /// Reads the numbers of groups of this process.
  static var groups: IDMap { IDMap(named: "gid_map", overflow: "overflowgid") }

  private init(named name: String, overflow: String) {
    // Without /proc nobody is taken for one outside.
    let map = Self.read(BytePath("/proc/self/\(name)")) ?? "0 0 4294967295"
    let number = Self.read(BytePath("/proc/sys/kernel/\(overflow)")).flatMap {
      UInt32($0.prefix { $0.isNumber })
    }
    self.init(map, overflow: number ?? 65534)
  }

  /// Makes one of a map as the kernel writes it: first number here, first outside, how many.
  init(_ map: String, overflow: UInt32) {
    ranges = map.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ").compactMap { UInt64($0) }
      return fields.count == 3 ? fields[0]..<fields[0] + fields[2] : nil
    }
    self.overflow = overflow
  }

  /// Whether a number that is shown stands for somebody who has none here.
  func isOutside(_ id: UInt32) -> Bool {
    id == overflow && !ranges.contains { $0.contains(UInt64(id)) }
  }

  private static func read(_ path: BytePath) -> String? {
    // What can't be read is not there, which the caller knows what to make of.
    guard let file = try? Descriptor.open(path, flags: O_RDONLY),
      let bytes = try? file.readToEnd(limit: 1 << 16)
    else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}
