/// Who can be in a group, according to the system's user and group databases.
struct GroupMembership: Hashable, Sendable {
  struct User: Hashable, Sendable {
    var name: String
    var id: UInt32
    /// The user's primary group, which need not list the user as a member.
    var group: UInt32
  }

  var id: UInt32
  var name: String
  var members: [String]
  var users: [User]

  /// The first user besides the given one and root who can be in the group; `nil` if none.
  func stranger(besides user: UInt32) -> String? {
    // A user may have several names.
    let known = users.filter { $0.id == user || $0.id == 0 }
    if let other = users.first(where: { $0.group == id && !known.contains($0) }) {
      return other.name
    }
    return members.first { name in !known.contains { $0.name == name } }
  }
}
