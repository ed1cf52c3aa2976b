import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// A plugin, a configuration and a library in places that the group may write, or that belong to
/// somebody outside of the user namespace.
@Suite(
  "Whose places are",
  .enabled(
    if: geteuid() == 0 && Namespace.isPossible && Unprivileged.isPossible,
    "Only root can be an ordinary user of an own group in namespaces of its own."),
  .timeLimit(.minutes(2)))
final class FileOwnerTests {
  private let workspace: Workspace

  init() throws {
    workspace = try Workspace(stages: [SmallPlugin.stage])
    try SmallPlugin.write(into: workspace)
    try workspace.put("one", as: "a.txt")
  }

  /// Has the program run by user 4321 with a umask of 002, on a machine that has other users.
  private func beOrdinary(passwd: String = "", members: String = "") throws {
    let users = "root:x:0:0::/:/bin/sh\nmine:x:4321:4321::/:/bin/sh\nother:x:4322:4322::/:/bin/sh\n"
    try workspace.write(Array((users + passwd).utf8), to: "etc.passwd")
    try workspace.write(Array("root:x:0:\nmine:x:4321:\(members)\n".utf8), to: "etc.group")
    try workspace.write(Array("passwd: files\ngroup: files\n".utf8), to: "etc.nsswitch.conf")
    try Unprivileged.shell(
      "chown -R 4321:4321 . && chmod -R g+w . && chmod g-w pipeline.json && chown 0:0 etc.* "
        + "&& chmod 644 etc.*", in: workspace)
    let script = """
      for name in passwd group nsswitch.conf; do
        test ! -e /etc/$name || mount --bind etc.$name /etc/$name
      done
      umask 002
      exec setpriv --reuid=4321 --regid=4321 --clear-groups -- "$@"
      """
    workspace.program.prefix = ["unshare", "-m", "--", "/bin/sh", "-euc", script, "sh"]
  }

  @Test("With a umask of 002 and a group of one's own all works")
  func privateGroup() throws {
    try beOrdinary(members: "mine")
    #expect(try workspace.json("run").summary["jobsDone"] == 1)
    // The library's folders, too.
    try Unprivileged.shell("chmod -R g+w library mine", in: workspace)
    try workspace.put("two", as: "b.txt")
    #expect(try workspace.json("run").summary["jobsDone"] == 1)
  }

  @Test(
    "What the group may write is refused where somebody else is in it",
    arguments: [("", "mine,other"), ("third:x:4323:4321::/:/bin/sh\n", "")])
  func sharedGroup(_ passwd: String, _ members: String) throws {
    try beOrdinary(passwd: passwd, members: members)
    let name = members.isEmpty ? "third" : "other"
    let reason = "“\(name)” is in its group “mine”"
    try Unprivileged.shell("chmod g+w pipeline.json", in: workspace)
    let outcome = try workspace.run("run")
    #expect(outcome.exitCode == 2 && outcome.errors.contains(reason), "\(outcome.errors)")
    try Unprivileged.shell("chmod go-w . pipeline.json", in: workspace)
    let listed = try workspace.run("plugins", "mine")
    #expect(listed.exitCode != 0 && listed.errors.contains(reason), "\(listed.errors)")
    try Unprivileged.shell("chmod -R go-w mine && chmod go-w .", in: workspace)
    #expect(try workspace.json("run").summary["jobsDone"] == 1)
    try Unprivileged.shell("chmod g+w library/work", in: workspace)
    let third = try workspace.run("run")
    #expect(third.exitCode == 1 && third.errors.contains(reason), "\(third.errors)")
  }

  // MARK: Without root

  private func beWithoutRoot() throws {
    try Unprivileged.handOver(workspace)
    workspace.program.prefix += ["unshare", "--user", "--map-root-user", "--"]
  }

  @Test("In a user namespace without root plugins run: who owns the system is nobody within reach")
  func withoutRoot() throws {
    try beWithoutRoot()
    #expect(try workspace.json("run").summary["jobsDone"] == 1)
  }

  @Test("What is not the system's, and belongs to somebody outside, is refused there")
  func outside() throws {
    try beWithoutRoot()
    try Unprivileged.shell("chown 4322:4322 mine", in: workspace)
    let listed = try workspace.run("plugins", "mine")
    #expect(listed.exitCode != 0)
    #expect(
      listed.errors.contains("belongs to a user with no ID in this user namespace"),
      "\(listed.errors)")
  }

  @Test("Where this user has no number either, nothing is taken for his own")
  func nobody() throws {
    try Unprivileged.handOver(workspace)
    workspace.program.prefix += ["unshare", "--user", "--"]
    let outcome = try workspace.run("run")
    #expect(outcome.exitCode == 2)
    #expect(outcome.errors.contains("belongs to a user with no ID"), "\(outcome.errors)")
  }
}
