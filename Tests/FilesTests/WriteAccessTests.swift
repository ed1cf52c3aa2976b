import Fixtures
import Glibc
import PipelineModel
import Testing

@testable import Files

@Suite("Who may write a file or folder", .timeLimit(.minutes(1)))
struct WriteAccessTests {
  private static let whole = IDMap("         0          0 4294967295\n", overflow: 65534)
  private static let users: [GroupMembership.User] = [
    .init(name: "root", id: 0, group: 0), .init(name: "me", id: 1000, group: 1000),
    .init(name: "other", id: 1001, group: 1001),
  ]

  private func access(
    _ facts: GroupMembership, ids: IDMap = Self.whole
  ) -> WriteAccess {
    WriteAccess(user: 1000, users: ids, groups: ids) { _ in facts }
  }

  // MARK: Groups

  @Test(
    "Nobody else is in a group of the user's own, of root, or of nobody",
    arguments: [
      GroupMembership(id: 1000, name: "me", members: [], users: users),
      GroupMembership(id: 1000, name: "me", members: ["me", "root"], users: users),
      GroupMembership(id: 0, name: "root", members: [], users: users),
      GroupMembership(id: 50, name: "staff", members: [], users: users),
      // The user by another name.
      GroupMembership(
        id: 1000, name: "me", members: ["i"],
        users: users + [.init(name: "i", id: 1000, group: 1000)]),
    ])
  func harmless(_ facts: GroupMembership) {
    #expect(access(facts).others(ofGroup: facts.id) == nil)
  }

  @Test(
    "Whoever else is in a group is named: as a member, by its number, or by a name without a user",
    arguments: [
      (["other"], 1001, "other"), (["me", "other"], 1001, "other"), ([], 1000, "other"),
      (["gone"], 1001, "gone"),
    ] as [([String], UInt32, String)])
  func harmful(_ members: [String], _ groupOfOther: UInt32, _ name: String) {
    var users = Self.users
    users[2].group = groupOfOther
    let facts = GroupMembership(id: 1000, name: "me", members: members, users: users)
    #expect(access(facts).others(ofGroup: 1000) == "others (“\(name)” is in its group “me”)")
  }

  @Test("A group of which nothing can be known counts as that of others")
  func unknown() {
    let access = WriteAccess(user: 1000, users: Self.whole, groups: Self.whole) {
      (_) throws(GroupMembership.Unknown) in throw GroupMembership.Unknown(reason: "it rains")
    }
    #expect(
      access.others(ofGroup: 7) == "others (who is in its group 7 can't be known: it rains)")
  }

  @Test("Only what the machine itself knows of users and groups is whole")
  func sources() {
    func other(_ text: String) -> String? { GroupMembership.otherSource(in: text) }
    #expect(other("") == nil)
    #expect(other("passwd: files systemd\ngroup: files [SUCCESS=merge] systemd # ldap\n") == nil)
    #expect(other("hosts: files dns\npasswd:files\n") == nil)
    #expect(other("passwd:\tfiles [ NOTFOUND = return ] sss\n") == "sss")
    #expect(other("passwd: files\ngroup: files ldap\n") == "ldap")
    #expect(other("initgroups: nis\n") == "nis")
  }

  @Test("The machine tells who is in root's group")
  func system() throws {
    let facts = try GroupMembership.ofSystem(0)
    #expect(facts.id == 0 && !facts.name.isEmpty)
    #expect(facts.users.contains { $0.id == 0 && $0.group == 0 })
    #expect(throws: GroupMembership.Unknown.self) { try GroupMembership.ofSystem(4_294_967_123) }
  }

  // MARK: Modes

  private func others(mode: UInt32, _ facts: GroupMembership) throws -> String? {
    let folder = try TemporaryFolder()
    try #require(chmod("\(folder.path)", mode) == 0)
    let place = try Descriptor.openFolder(folder.path)
    return try access(facts).others(place.status(), at: place)
  }

  @Test("All may write what the world may; what the group may write is a matter of who is in it")
  func modes() throws {
    let own = GroupMembership(id: 1000, name: "me", members: [], users: Self.users)
    let shared = GroupMembership(id: 1000, name: "me", members: ["other"], users: Self.users)
    #expect(try others(mode: 0o755, shared) == nil)
    #expect(try others(mode: 0o775, own) == nil)
    #expect(try others(mode: 0o775, shared)?.contains("“other”") == true)
    #expect(try others(mode: 0o777, own) == "others")
    #expect(try others(mode: 0o757, own) == "others")
  }

  @Test("An access list may name others, whoever is in the group")
  func accessList() throws {
    let folder = try TemporaryFolder()
    let place = try Descriptor.openFolder(folder.path)
    // acl(5) as the kernel keeps it: rwx for the owner, user 1001 and the mask; r-x for the rest.
    let entries: [(tag: UInt16, permissions: UInt16, id: UInt32)] = [
      (1, 7, .max), (2, 7, 1001), (4, 5, .max), (16, 7, .max), (32, 5, .max),
    ]
    var list: [UInt8] = [2, 0, 0, 0]
    for entry in entries {
      for value in [entry.tag, entry.permissions] {
        withUnsafeBytes(of: value.littleEndian) { list += $0 }
      }
      withUnsafeBytes(of: entry.id.littleEndian) { list += $0 }
    }
    let isSet = setAttribute("\(folder.path)", "system.posix_acl_access", list)
    // A file system without such lists has no such danger.
    if !isSet { return }
    let own = GroupMembership(id: 1000, name: "me", members: [], users: Self.users)
    let status = try place.status()
    #expect(status.permissions & 0o20 != 0)
    #expect(try access(own).others(status, at: place)?.contains("access list") == true)
  }

  private typealias SetAttribute =
    @convention(c) (
      UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer, Int, Int32
    ) -> Int32

  /// Source: setxattr(2), which no header that Swift imports declares.
  private func setAttribute(_ path: String, _ name: String, _ value: [UInt8]) -> Bool {
    guard let symbol = dlsym(nil, "setxattr") else { return false }
    return unsafeBitCast(symbol, to: SetAttribute.self)(path, name, value, value.count, 0) == 0
  }

  // MARK: Namespaces

  @Test("The number that stands for those without one is nobody's only where it is not given out")
  func outside() {
    #expect(!Self.whole.isOutside(65534))
    let rootless = IDMap("         0       1000          1\n", overflow: 65534)
    #expect(rootless.isOutside(65534) && !rootless.isOutside(0) && !rootless.isOutside(1))
    let container = IDMap("0 1000 1\n1 100000 65536\n", overflow: 65534)
    #expect(!container.isOutside(65534))
    // Of a namespace to which nothing was given: this user, too, is shown by that number.
    #expect(IDMap("", overflow: 65534).isOutside(65534))
  }

  @Test("Who has no number here is outside, even where this user is shown by the same one")
  func owner() throws {
    let folder = try TemporaryFolder()
    var status = try Descriptor.openFolder(folder.path).status()
    let facts = GroupMembership(id: 0, name: "", members: [], users: [])
    func owner(_ id: UInt32, user: UInt32, _ map: String) -> WriteAccess.Owner {
      status.owner = id
      let ids = IDMap(map, overflow: 65534)
      return WriteAccess(user: user, users: ids, groups: ids) { _ in facts }.owner(of: status)
    }
    #expect(owner(65534, user: 65534, "0 0 4294967295") == .user)
    #expect(owner(65534, user: 65534, "") == .outside)
    #expect(owner(65534, user: 0, "0 1000 1") == .outside)
    #expect(owner(65534, user: 0, "0 0 4294967295") == .other(65534))
    #expect(owner(0, user: 1000, "0 0 4294967295") == .root)
    status.group = 65534
    #expect(
      access(facts, ids: IDMap("0 1000 1", overflow: 65534)).others(ofGroup: 65534)?
        .contains("no ID") == true)
  }

  @Test(
    "What a system keeps for itself is known by its path, and homes are not",
    arguments: [
      ("/", true), ("/usr", true), ("/usr/local/bin/tool", true), ("/lib64", true),
      ("/etc/x", true),
      ("/home", true), ("/home/other", false), ("/opt/tool", false), ("/usrx", false),
      ("/srv/data", false), ("/data", false),
    ] as [(BytePath, Bool)])
  func systemPlaces(_ path: BytePath, _ isSystems: Bool) {
    #expect(TrustedPath.isSystems(path) == isSystems)
  }
}
