import Glibc
import PipelineModel
import Synchronization

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

  /// Why the members of a group can't be known; follows “can't be known: ” in messages.
  struct Unknown: Error, Hashable {
    let reason: String
  }

  /// Local sources, which list all their users. Others, such as a network directory, may be slow,
  /// and need not list users that nobody asks for. Source: nsswitch.conf(5), nss-systemd(8),
  /// sssd.conf(5) on `enumerate`.
  private static let ownSources: Set<Substring> = [
    "files", "altfiles", "usrfiles", "extrausers", "db", "systemd",
  ]
  /// With more users than this, the search is given up.
  private static let mostUsers = 100_000
  private static let longestEntry = 1 << 20
  /// Processes keep the groups they started with, so changes need not be seen at once.
  private static let validity = Duration.seconds(10)

  private struct Known {
    let facts: Result<GroupMembership, Unknown>
    let since = ContinuousClock().now
  }

  private static let known = Mutex<[UInt32: Known]>([:])

  /// Asks the system who can be in a group, or returns a recent answer.
  static func ofSystem(_ id: UInt32) throws(Unknown) -> GroupMembership {
    // Under the lock, because getpwent(3) has one position per process.
    let known = known.withLock { known in
      if let facts = known[id], ContinuousClock().now - facts.since < validity { return facts }
      let facts = Known(facts: Result { () throws(Unknown) in try read(id) })
      known[id] = facts
      return facts
    }
    return try known.facts.get()
  }

  private static func read(_ id: UInt32) throws(Unknown) -> GroupMembership {
    // Without such a file or line, glibc uses the files.
    let sources =
      (try? Descriptor.open("/etc/nsswitch.conf", flags: O_RDONLY))
      .flatMap { try? $0.readToEnd(limit: 1 << 20) } ?? []
    if let other = otherSource(in: String(decoding: sources, as: UTF8.self)) {
      throw Unknown(reason: "users and groups also come from “\(other)” (/etc/nsswitch.conf)")
    }
    let (name, members) = try group(id)
    return GroupMembership(id: id, name: name, members: members, users: try users())
  }

  /// The first source of users or groups that is not local; `nil` if all are.
  static func otherSource(in configuration: String) -> String? {
    for line in configuration.split(separator: "\n") {
      let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" || $0 == ":" }
      guard let database = words.first, ["passwd", "group", "initgroups"].contains(database) else {
        continue
      }
      // Brackets enclose actions, which say how to treat a result.
      var isAction = false
      for word in words.dropFirst() {
        if word.hasPrefix("[") { isAction = true }
        if !isAction, !ownSources.contains(word) { return String(word) }
        if word.hasSuffix("]") { isAction = false }
      }
    }
    return nil
  }

  /// Source: getgrgid_r(3).
  private static func group(_ id: UInt32) throws(Unknown) -> (name: String, members: [String]) {
    var buffer = [CChar](repeating: 0, count: longestEntry)
    var entry = Glibc.group()
    var result: UnsafeMutablePointer<Glibc.group>?
    let code = getgrgid_r(id, &entry, &buffer, buffer.count, &result)
    guard code == 0 else { throw unknown(code) }
    guard result != nil, let name = entry.gr_name else {
      throw Unknown(reason: "there is no such group here")
    }
    return withExtendedLifetime(buffer) {
      var members: [String] = []
      var next = entry.gr_mem
      while let member = next?.pointee {
        members.append(String(cString: member))
        next = next?.advanced(by: 1)
      }
      return (String(cString: name), members)
    }
  }

  /// Source: getpwent_r(3).
  private static func users() throws(Unknown) -> [User] {
    var users: [User] = []
    var buffer = [CChar](repeating: 0, count: longestEntry)
    setpwent()
    defer { endpwent() }
    while true {
      var entry = passwd()
      var result: UnsafeMutablePointer<passwd>?
      let code = getpwent_r(&entry, &buffer, buffer.count, &result)
      if code == ENOENT { return users }
      guard code == 0 else { throw unknown(code) }
      guard users.count < mostUsers else {
        throw Unknown(reason: "there are more than \(mostUsers) users")
      }
      guard let name = entry.pw_name else { continue }
      withExtendedLifetime(buffer) {
        users.append(User(name: String(cString: name), id: entry.pw_uid, group: entry.pw_gid))
      }
    }
  }

  private static func unknown(_ code: Int32) -> Unknown {
    Unknown(reason: String(cString: strerror(code)))
  }
}
