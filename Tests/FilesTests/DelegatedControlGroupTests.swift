import Fixtures
import Foundation
import PipelineModel
import Testing

@testable import Files

/// Whether this program was given a control group to divide: told from files as the kernel has them.
@Suite("Delegated control groups")
struct DelegatedControlGroupTests {
  private let folder: TemporaryFolder
  private let group: BytePath

  init() throws {
    folder = try TemporaryFolder()
    group = folder.path.appending("service")
    try FileManager.default.createDirectory(
      atPath: group.description, withIntermediateDirectories: false)
    try write("12:memory:/elsewhere\n0::/service\n", "membership")
    try write(
      "22 1 8:1 / / rw - ext4 /dev/sda rw\n"
        + "29 22 0:26 / \(folder.path) rw,relatime shared:4 master:2 - cgroup2 cgroup2 rw\n",
      "mountinfo")
    try write("cpu memory pids\n", "service/cgroup.controllers")
  }

  private func write(_ text: String, _ name: String) throws {
    try text.write(
      toFile: folder.path.appending(BytePath(name)).description, atomically: false,
      encoding: .utf8)
  }

  private func find() -> Result<BytePath, DelegatedControlGroup.Absence> {
    Result { () throws(DelegatedControlGroup.Absence) in
      try DelegatedControlGroup.find(
        membership: folder.path.appending("membership"),
        mounts: MountTable(mounts: folder.path.appending("mountinfo"))
      ).path
    }
  }

  /// Marks the group as systemd does.
  private func mark(_ value: String) throws {
    let marker = Process()
    marker.executableURL = URL(filePath: "/usr/bin/env")
    marker.arguments = [
      "python3", "-c", "import os, sys; os.setxattr(sys.argv[1], 'user.delegate', b'\(value)')",
      group.description,
    ]
    try marker.run()
    marker.waitUntilExit()
    try #require(marker.terminationStatus == 0)
  }

  @Test("One that is marked is found")
  func marked() throws {
    try mark("1")
    #expect(find() == .success(group))
  }

  @Test("One that nobody gave away is left alone")
  func unmarked() throws {
    #expect(find() == .failure(.notDelegated(group)))
    try mark("0")
    #expect(find() == .failure(.notDelegated(group)))
  }

  @Test("Controllers that are missing are named")
  func controllers() throws {
    try mark("1")
    try write("cpu pids\n", "service/cgroup.controllers")
    #expect(find() == .failure(.noControllers(["memory"])))
    try write("", "service/cgroup.controllers")
    #expect(find() == .failure(.noControllers(["memory", "pids"])))
  }

  @Test("Groups of version 1, or none that are mounted, are none")
  func noHierarchy() throws {
    try write("12:memory:/elsewhere\n", "membership")
    #expect(find() == .failure(.noHierarchy))
    try write("0::/service\n", "membership")
    try write("22 1 8:1 / / rw - ext4 /dev/sda rw\n", "mountinfo")
    #expect(find() == .failure(.noHierarchy))
  }

  @Test("A group that is not where it ought to be is an error with its path")
  func hidden() throws {
    try write("0::/../other\n", "membership")
    guard case .failure(.error(let error)) = find() else {
      Issue.record("It was found.")
      return
    }
    #expect(error.code == .notFound && error.message.contains("other"))
  }

  @Test("What the kernel refused to a group is read from its events")
  func events() throws {
    let parent = try Descriptor.openFolder(group)
    let worker = try ControlGroup("worker-1", in: parent)
    #expect(!worker.hasRunOutOfMemory && worker.refusedThreads == 0)
    try write("low 0\noom 1\noom_kill 0\n", "service/worker-1/memory.events")
    try write("max 0\n", "service/worker-1/pids.events")
    #expect(!worker.hasRunOutOfMemory && worker.refusedThreads == 0)
    try write("low 0\noom 1\noom_kill 2\n", "service/worker-1/memory.events")
    try write("max 17\nmax.imposed 3\n", "service/worker-1/pids.events")
    #expect(worker.hasRunOutOfMemory && worker.refusedThreads == 17)
  }
}
