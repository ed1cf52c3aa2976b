import CLinux
import Glibc
package import PipelineModel

/// Who may write a file or folder.
package struct WriteAccess: Sendable {
  /// Whose something is.
  package enum Owner: Hashable, Sendable {
    case user, root
    /// Somebody who has no number in the user namespace of this process.
    case outside
    case other(UInt32)

    /// Who that is, for messages.
    package var words: String {
      switch self {
      case .user: "you"
      case .root: "root"
      case .outside: "somebody who has no number in this user namespace"
      case .other(let id): "user \(id)"
      }
    }
  }

  private let user: UInt32
  private let users: IDMap
  private let groups: IDMap
  private let facts: @Sendable (UInt32) throws(GroupFacts.Unknown) -> GroupFacts

  /// Makes it for the user of this process.
  package init() { self.init(user: geteuid(), users: .users, groups: .groups) }

  /// Makes it from its parts.
  ///
  /// - Parameter facts: says who can be in a group.
  init(
    user: UInt32, users: IDMap, groups: IDMap,
    facts: @escaping @Sendable (UInt32) throws(GroupFacts.Unknown) -> GroupFacts = {
      (id) throws(GroupFacts.Unknown) in try GroupFacts.ofSystem(id)
    }
  ) {
    self.user = user
    self.users = users
    self.groups = groups
    self.facts = facts
  }

  /// Says whose something is.
  package func owner(of status: FileStatus) -> Owner {
    // First, because a user without a number here sees the same one.
    if users.isOutside(status.owner) { return .outside }
    switch status.owner {
    case user: return .user
    case 0: return .root
    case let other: return .other(other)
    }
  }

  /// Says who may write something because of its mode and group, besides its owner, this user
  /// and root; `nil` if nobody may.
  ///
  /// That its group may write it is harmless where nobody else can be in the group, as in one of
  /// the user's own, which a umask of 002 goes with.
  ///
  /// - Returns: “others”, with the reason where it is not that all may.
  package func others(
    _ status: FileStatus, at place: Descriptor
  ) throws(FileError) -> String? {
    if status.permissions & S_IWOTH != 0 { return "others" }
    guard status.permissions & S_IWGRP != 0 else { return nil }
    // Where there is a list, the group's permissions are the most that anybody on it has.
    if try place.hasAccessList { return "others (whom its access list names: see getfacl)" }
    return others(ofGroup: status.group)
  }

  /// Says who can be in a group besides this user and root.
  func others(ofGroup group: UInt32) -> String? {
    if groups.isOutside(group) {
      return "others (its group has no number in this user namespace)"
    }
    do throws(GroupFacts.Unknown) {
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
  /// Whether a list says who else may do what. Source: acl(5), nfs4_acl(5), getxattr(2).
  fileprivate var hasAccessList: Bool {
    get throws(FileError) {
      for name in ["system.posix_acl_access", "system.nfs4_acl"] {
        do throws(FileError) {
          // By its path in /proc: what is open as a place tells no attributes by itself.
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
