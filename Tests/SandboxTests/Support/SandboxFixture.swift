import Fixtures
import Foundation
import Glibc
import PipelineModel
import Sandbox
import Testing

@testable import sandbox_probe

/// The kernels that a test stands for: this one, an old one, and one without Landlock; the latter
/// two give no namespaces.
enum Kernel: CaseIterable, Sendable {
  case newest, second, none

  var landlockABI: Int? {
    switch self {
    case .newest: nil
    case .second: 2
    case .none: 0
    }
  }

  /// Whether what is outside is out of sight.
  var hidesOthers: Bool { self == .newest && SandboxSupport.privateRootRefusal == nil }

  /// Those that have Landlock.
  static let withLandlock: [Kernel] = [.newest, .second]
}

/// Folders as a worker has them, and something outside that it must not reach.
///
/// Nothing but the sandbox is in the way: modes and owners allow everything.
struct SandboxFixture {
  typealias Call = ProbeRequest.Call

  let folder: TemporaryFolder
  let original: BytePath
  let secret: BytePath
  let output: BytePath

  init() throws {
    folder = try TemporaryFolder()
    original = folder.appending("in/original")
    secret = folder.appending("outside/secret")
    output = folder.appending("out")
    for name: BytePath in ["in", "out", "outside"] {
      try FileManager.default.createDirectory(
        atPath: folder.appending(name).description, withIntermediateDirectories: false)
    }
    for path in [original, secret] {
      try Data("bytes that stay".utf8).write(to: URL(fileURLWithPath: path.description))
      guard chmod(path.description, 0o644) == 0 else { throw POSIXError(.EPERM) }
    }
  }

  func policy(_ kernel: Kernel = .newest) -> SandboxPolicy {
    var policy = SandboxPolicy(read: [folder.appending("in")], write: [output])
    policy.greatestLandlockABI = kernel.landlockABI
    policy.hidesOthers = kernel == .newest
    return policy
  }

  /// Starts the probe and returns what it printed.
  func start(_ request: ProbeRequest) throws -> BuiltProgramOutcome {
    var program = BuiltProgram(in: folder.path)
    program.program = BuiltProgram.path.parent.appending("sandbox-probe")
    let text = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
    return try program.run([BytePath(text)], within: 30)
  }

  /// Makes calls within a policy, or without any, and returns the error of each; 0 is none.
  func errors(
    _ policy: SandboxPolicy?, before: [Call] = [], _ calls: [Call]
  ) throws -> [Int32] {
    var request = ProbeRequest(policy: policy)
    request.before = before
    request.within = calls
    let outcome = try start(request)
    try #require(outcome.exitCode == 0, "\(outcome)")
    let all = try JSONDecoder().decode([ProbeRequest.Outcome].self, from: Data(outcome.outputBytes))
    try #require(all.count == before.count + calls.count)
    for (call, outcome) in zip(before, all) {
      try #require(outcome.error == 0, "\(call.name) failed before the sandbox")
    }
    return all.dropFirst(before.count).map(\.error)
  }

  /// Becomes a program within a policy.
  func execute(_ program: [BytePath], _ policy: SandboxPolicy) throws -> BuiltProgramOutcome {
    var request = ProbeRequest(policy: policy)
    request.program = program
    return try start(request)
  }

  /// Writes a file that can be executed, and returns its path.
  func script(_ name: BytePath, _ text: String) throws -> BytePath {
    let path = folder.appending(name)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path.description))
    guard chmod(path.description, 0o755) == 0 else { throw POSIXError(.EPERM) }
    return path
  }
}

/// All that is to be the same afterwards: bytes, and what stat(2) says but the time of reading.
///
/// The time of change tells of attributes and flags, too.
struct Appearance: Equatable {
  let bytes: Data
  let mode, user, group, links: UInt64
  let modified, changed: [Int]

  init(of path: BytePath) throws {
    bytes = try Data(contentsOf: URL(fileURLWithPath: path.description))
    var status = stat()
    guard stat(path.description, &status) == 0 else { throw POSIXError(.ENOENT) }
    mode = UInt64(status.st_mode)
    user = UInt64(status.st_uid)
    group = UInt64(status.st_gid)
    links = UInt64(status.st_nlink)
    modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
    changed = [status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
  }
}
