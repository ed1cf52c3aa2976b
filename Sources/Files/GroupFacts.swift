/// Who can be in a group, as the machine's databases of users and groups say.
struct GroupFacts: Hashable, Sendable {
  /// A user of the machine.
  struct User: Hashable, Sendable {
    var name: String
    var id: UInt32
    /// The group that the user is in without being named as its member.
    var group: UInt32
  }

  /// The group's number.
  var id: UInt32
  var name: String
  /// The names of its members.
  var members: [String]
  /// All users of the machine.
  var users: [User]

  /// The first who can be in the group and is neither a user nor root; `nil` if there is nobody.
  func stranger(besides user: UInt32) -> String? {
    // One user may have several names.
    let known = users.filter { $0.id == user || $0.id == 0 }
    if let other = users.first(where: { $0.group == id && !known.contains($0) }) {
      return other.name
    }
    return members.first { name in !known.contains { $0.name == name } }
  }
}
