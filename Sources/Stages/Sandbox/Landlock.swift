internal import CSandbox
import Files
import PipelineModel

/// A Landlock ruleset for this process. Source: landlock(7).
///
/// It denies everything that the version handles unless a rule allows it.
struct Landlock {
  /// Access rights to files, with Landlock's values.
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
    /// Moving between folders; since version 2, and always denied before.
    static let refer = Access(rawValue: 1 << 13)
    /// Since version 3.
    static let truncate = Access(rawValue: 1 << 14)

    static let read: Access = [.readFile, .readFolder]
    /// Without devices, sockets, pipes and symbolic links, which are never created.
    static let write: Access = [
      .readFile, .readFolder, .writeFile, .truncate, .makeFile, .makeFolder, .removeFile,
      .removeFolder, .refer,
    ]
    /// The rights that apply to non-folders; the kernel rejects others.
    static let ofFiles: Access = [.execute, .writeFile, .readFile, .truncate]

    /// All rights that a version of Landlock handles.
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

  /// Creates a ruleset.
  ///
  /// - Parameters:
  ///   - version: at most the kernel's version; at least 1.
  ///   - network: whether to leave TCP unrestricted.
  init(version: Int, network: Bool) throws(SandboxError) {
    handled = .all(of: version)
    var attributes = pipeline_landlock_ruleset(files: handled.rawValue, network: 0, scopes: 0)
    // Both bits: bind and connect.
    if version >= 4, !network { attributes.network = 0b11 }
    // Both bits: abstract Unix sockets and signals stay within the sandbox.
    if version >= 6 { attributes.scopes = 0b11 }
    let number = try systemCall("create a Landlock ruleset") {
      pipeline_landlock_create(&attributes)
    }
    ruleset = Descriptor(takingOver: number, path: "landlock")
  }

  /// Allows access to an open file, or to an open folder and everything below it.
  func allow(_ access: Access, _ place: Descriptor, isFolder: Bool) throws(SandboxError) {
    let allowed = access.intersection(isFolder ? handled : handled.intersection(.ofFiles))
    try systemCall("allow “\(place.path.printable)” in the sandbox") {
      pipeline_landlock_add(ruleset.number, place.number, allowed.rawValue)
    }
  }

  /// Enforces the ruleset on this process for good.
  func restrict() throws(SandboxError) {
    try systemCall("enforce the Landlock ruleset") {
      pipeline_landlock_restrict(ruleset.number)
    }
  }
}
