import CLinux
import Glibc
import PipelineModel

/// Who may write a file or folder.
package struct WriteAccess: Sendable {
  package enum Owner: Hashable, Sendable {
    case user, root
    /// A user without an ID in this process's user namespace.
    case outside
    case other(UInt32)

    package var words: String {
      switch self {
      case .user: "you"
      case .root: "root"
      case .outside: "a user with no ID in this user namespace"
      case .other(let id): "user \(id)"
      }
    }
  }

  private let user: UInt32
  private let users: IDMap
  private let groups: IDMap
  private let facts: @Sendable (UInt32) throws(GroupMembership.Unknown) -> GroupMembership

  package init() { self.init(user: geteuid(), users: .users, groups: .groups) }

  /// - Parameter facts: returns who can be in a group.
  init(
    user: UInt32, users: IDMap, groups: IDMap,
    facts: @escaping @Sendable (UInt32) throws(GroupMembership.Unknown) -> GroupMembership = {
      (id) throws(GroupMembership.Unknown) in try GroupMembership.ofSystem(id)
    }
  ) {
    self.user = user
    self.users = users
    self.groups = groups
    self.facts = facts
  }

  package func owner(of status: FileStatus) -> Owner {
    // Checked first: a user without an ID here has the overflow ID, too.
    if users.isOutside(status.owner) { return .outside }
    switch status.owner {
    case user: return .user
    case 0: return .root
    case let other: return .other(other)
    }
  }

  /// Returns who may write a file by its mode and group, besides its owner, this user and root;
  /// `nil` if nobody may.
  ///
  /// Group write permission is harmless if nobody else can be in the group, such as a user's own
  /// group, which goes with a umask of 002.
  ///
  /// - Returns: “others”, with the reason unless everybody may write.
  package func others(_ status: FileStatus, at place: Descriptor) throws(FileError) -> String? {
    if status.permissions & S_IWOTH != 0 { return "others" }
    guard status.permissions & S_IWGRP != 0 else { return nil }
    // With an access list, the group's permissions are the most that anybody on it has.
    if try place.hasAccessList { return "others (named in its access list: see getfacl)" }
    return others(ofGroup: status.group)
  }

  /// Returns who can be in a group besides this user and root; `nil` if nobody.
  func others(ofGroup group: UInt32) -> String? {
    if groups.isOutside(group) {
      return "others (its group has no ID in this user namespace)"
    }
    do throws(GroupMembership.Unknown) {
      let facts = try facts(group)
      return facts.stranger(besides: user).map {
        "others (“\($0)” is in its group “\(facts.name)”)"
      }
    } catch {
      return "others (who is in its group \(group) can't be known: \(error.reason))"
    }
  }
}

extension Descriptor {
  /// Whether the file has an access list. Source: acl(5), nfs4_acl(5), getxattr(2).
  fileprivate var hasAccessList: Bool {
    get throws(FileError) {
      for name in ["system.posix_acl_access", "system.nfs4_acl"] {
        do throws(FileError) {
          // By its path in /proc: an `O_PATH` descriptor itself has no attributes.
          try systemCall("examine", path) {
            pipeline_get_attribute_of_path("/proc/self/fd/\(number)", name, nil, 0)
          }
          return true
        } catch {
          guard [ENODATA, EOPNOTSUPP].contains(error.errno) else { throw error }
        }
      }
      return false
    }
  }

  /// Refuses a folder in which another user could put files where this program writes or removes.
  ///
  /// - Parameter what: what messages call it, such as “The library”.
  /// - Throws: `FileError` of code `untrusted`.
  package func requireOwn(_ what: String) throws(FileError) {
    let access = WriteAccess()
    let status = try status()
    let owner = access.owner(of: status)
    guard owner == .user else {
      throw FileError(
        .untrusted,
        "\(what) “\(path.printable)” belongs to \(owner.words), not to you (\(geteuid())), who "
          + "could redirect what is written and removed there. Run the program as that user, or "
          + "take ownership by `chown -R`; where the mount sets owners, as on SMB, by its option "
          + "uid.", path: path)
    }
    guard let others = try access.others(status, at: self) else { return }
    throw FileError(
      .untrusted,
      "\(what) “\(path.printable)” may be written by \(others), who could redirect what is written "
        + "and removed there. Run chmod go-w on it, or, where the mount sets modes, as on SMB or "
        + "exFAT, mount it with umask=077 or dir_mode=0700.", path: path)
  }
}

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
