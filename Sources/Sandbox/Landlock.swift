internal import CSandbox
import Files
import Glibc
import PipelineModel

/// A set of Landlock's rules that this process is about to be held to. Source: landlock(7).
///
/// Everything that the version knows is denied but what a rule allows.
struct Landlock {
  /// What may be done with files, in Landlock's numbers.
  struct Access: OptionSet {
    let rawValue: UInt64

    static let execute = Access(rawValue: 1 << 0)
    static let writeFile = Access(rawValue: 1 << 1)
    static let readFile = Access(rawValue: 1 << 2)
    static let readFolder = Access(rawValue: 1 << 3)
    static let removeFolder = Access(rawValue: 1 << 4)
    static let removeFile = Access(rawValue: 1 << 5)
    static let makeFolder = Access(rawValue: 1 << 7)
    static let makeFile = Access(rawValue: 1 << 8)
    /// Moving between folders; since version 2, before which it is always denied.
    static let refer = Access(rawValue: 1 << 13)
    /// Since version 3.
    static let truncate = Access(rawValue: 1 << 14)

    static let read: Access = [.readFile, .readFolder]
    /// Devices, sockets, pipes and symbolic links are never made.
    static let write: Access = [
      .readFile, .readFolder, .writeFile, .truncate, .makeFile, .makeFolder, .removeFile,
      .removeFolder, .refer,
    ]
    /// What has a meaning for something that is not a folder; more is refused by the kernel.
    static let ofFiles: Access = [.execute, .writeFile, .readFile, .truncate]

    /// All that a version of Landlock can deny.
    static func all(of version: Int) -> Access {
      let count =
        switch version {
        case ..<1: 0
        case 1: 13
        case 2: 14
        case 3, 4: 15
        default: 16
        }
      return Access(rawValue: (1 << count) - 1)
    }
  }

  private let ruleset: Descriptor
  private let handled: Access

  /// Begins a set of rules.
  ///
  /// - Parameters:
  ///   - version: what the kernel has, or less; at least 1.
  ///   - network: whether TCP is left alone.
  init(version: Int, network: Bool) throws(SandboxError) {
    handled = .all(of: version)
    var attributes = pipeline_landlock_ruleset(files: handled.rawValue, network: 0, scopes: 0)
    // Binding and connecting: both bits.
    if version >= 4, !network { attributes.network = 0b11 }
    // Abstract Unix sockets and signals stay within: both bits.
    if version >= 6 { attributes.scopes = 0b11 }
    let number = try systemCall("make rules of Landlock") {
      pipeline_landlock_create(&attributes)
    }
    ruleset = Descriptor(takingOver: number, path: "landlock")
  }

  /// Allows something for a file, or for a folder and all below it, that is open.
  func allow(
    _ access: Access, _ place: Descriptor, isFolder: Bool
  ) throws(SandboxError) {
    let allowed = access.intersection(isFolder ? handled : handled.intersection(.ofFiles))
    try systemCall("allow “\(place.path.printable)” in the sandbox") {
      pipeline_landlock_add(ruleset.number, place.number, allowed.rawValue)
    }
  }

  /// Holds this process to the rules for good.
  func restrict() throws(SandboxError) {
    try systemCall("enter the rules of Landlock") {
      pipeline_landlock_restrict(ruleset.number)
    }
  }
}
