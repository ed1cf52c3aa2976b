import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// What workers do with files that try to lead them astray, looked at from outside.
@Suite(
  "Workers under strace", .enabled(if: WorkerTrace.obstacle == nil, WorkerTrace.reason),
  .timeLimit(.minutes(10)))
struct TraceTests {
  @Test("A file that points elsewhere makes no worker connect, or open what it may not")
  func hostileFiles() throws {
    var stages = try #require(Workspace.stages().array)
    #if METADATA
      stages.append(["name": "tags", "plugin": "metadata", "needs": ["identify"]])
    #endif
    let workspace = try Workspace(stages: .array(stages))
    let files = try HostilePicture.all()
    for (name, bytes) in files { try workspace.put(bytes, as: BytePath(name)) }
    let (trace, outcome) = try WorkerTrace.run("run", "--json", in: workspace)
    #expect(outcome.exitCode == 0 || outcome.exitCode == 3, "\(outcome.errors)")
    #expect(try outcome.events().summary["imported"]?.integer == files.count)
    // The trace saw the workers at work, or it shows nothing.
    #expect(trace.workers >= stages.count)
    let inputs = trace.opened.compactMap(\.opened).filter { $0.contains("/in/") }
    #expect(inputs.count >= files.count * (stages.count - 1), "\(inputs)")
    expectNothingForbidden(trace, workspace)
    #expect(trace.ofNetwork.isEmpty, "\(trace.ofNetwork)")
    try workspace.expectNobodyLeft()
    try workspace.expectSound()
  }

  @Test(
    "SVG, PDF and PPM named .jpg are drawn without what they point to; text matrix and MAT are not")
  func disguised() throws {
    let workspace = try Workspace()
    for (name, bytes) in HostilePicture.disguised { try workspace.put(bytes, as: BytePath(name)) }
    let (trace, outcome) = try WorkerTrace.run("run", "--json", in: workspace)
    #expect(trace.workers >= 2)
    let jobs = try outcome.events("job").filter { $0["stage"] == "thumbnails" }
    #expect(jobs.count == HostilePicture.disguised.count)
    for job in jobs where job["outcome"] != "done" {
      #expect(job["outcome"] == "skipped" || job["class"] == "permanent", "\(job)")
      #expect((job["reason"]?.string?.count ?? 0) > 10, "\(job)")
    }
    let drawn = try workspace.assets().filter { $0["renditions"] != .array([]) }
    let names = Set(drawn.compactMap { $0["name"]?.string })
    #expect(names.isSubset(of: ["drawing.jpg", "document.jpg", "portable.jpg"]), "\(names)")
    #expect(names.contains("portable.jpg"))
    expectNothingForbidden(trace, workspace)
    #expect(trace.ofNetwork.isEmpty, "\(trace.ofNetwork)")
    try workspace.expectSound()
  }

  @Test("Control: what a plugin tries is seen by the trace, and refused")
  func control() throws {
    let workspace = try Workspace()
    try HostilePlugin.makeLibrary(in: workspace)
    try workspace.configure(
      stages: [["name": "hostile", "plugin": "hostile"]], ["plugins": ["plugins"]])
    try workspace.put("connect 9", as: "connect.txt")
    try workspace.put("read /etc/passwd", as: "read.txt")
    try workspace.put("make made", as: "make.txt")
    let (trace, outcome) = try WorkerTrace.run("run", in: workspace)
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let sockets = trace.ofNetwork
    #expect(sockets.map(\.name) == ["socket"] && sockets.allSatisfy { $0.result == -1 })
    #expect(trace.refused.contains { WorkerTrace.quoted($0.arguments) == "/etc/passwd" })
    #expect(trace.opened.contains { $0.opened?.hasSuffix("/out/made") == true })
    expectNothingForbidden(trace, workspace)
  }

  /// Expects that all that workers opened or changed is in their allowance.
  private func expectNothingForbidden(_ trace: WorkerTrace, _ workspace: Workspace) {
    let plugins = [BuiltProgram.path.parent.description, workspace.root.description + "/plugins"]
    let folders = Self.systemFolders + plugins
    for call in trace.opened {
      let path = call.opened ?? "?"
      let own = call.home == "/" ? [] : [call.home, Self.parent(call.home) + "/in"]
      let isAllowed =
        Self.systemFiles.contains(path) || path.hasPrefix("/usr/share/zoneinfo/")
        || (folders + own).contains { path == $0 || path.hasPrefix($0 + "/") }
      #expect(isAllowed, "\(call.name)(\(call.arguments)) opened \(path)")
    }
    for call in trace.changes {
      let path = WorkerTrace.quoted(call.arguments) ?? "?"
      let isOwn = path.hasPrefix("/") ? path.hasPrefix(call.home + "/") : !path.contains("..")
      #expect(isOwn && call.home != "/", "\(call.name)(\(call.arguments))")
    }
  }

  /// What every program may read: written here anew, not taken from the sandbox.
  private static let systemFiles = [
    "/etc/ld.so.cache", "/etc/localtime", "/etc/magic", "/etc/magic.mime", "/dev/null",
    "/dev/urandom", "/dev/random",
  ]

  private static let systemFolders: [String] = {
    // The Swift runtime is somewhere else on every machine. Source: proc_pid_maps(5).
    let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
    let library = maps.split(separator: "\n").first { $0.hasSuffix("/libswiftCore.so") }
    let path = library.flatMap { line in line.firstIndex(of: "/").map { String(line[$0...]) } }
    let runtime = path.map(parent) ?? "/usr/lib"
    return [
      runtime, "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64",
      "/usr/share", "/etc/fonts", "/sys/devices/system/cpu",
    ]
  }()

  private static func parent(_ path: String) -> String {
    URL(filePath: path).deletingLastPathComponent().path
  }
}
