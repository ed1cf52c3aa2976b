import CLinux
import Glibc
import PipelineModel

/// Who may write a file or folder.
package struct WriteAccess: Sendable {
  /// The owner of a file or folder.
  package enum Owner: Hashable, Sendable {
    case user, root
    /// A user without an ID in this process's user namespace.
    case outside
    case other(UInt32)

    /// The owner, for messages.
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

  /// Creates it for this process's user.
  package init() { self.init(user: geteuid(), users: .users, groups: .groups) }

  /// Creates it from its parts.
  ///
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

  /// Returns the owner of a file or folder.
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
  package func others(
    _ status: FileStatus, at place: Descriptor
  ) throws(FileError) -> String? {
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
}
