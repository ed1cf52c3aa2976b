package import FoundationEssentials
package import PipelineModel
package import Sandbox

/// What a probe does: calls before the sandbox, the sandbox, and calls within it.
package struct ProbeRequest: Codable, Sendable {
  /// A system call, by the name that libseccomp knows it by.
  package struct Call: Codable, Sendable {
    /// An argument of a call.
    package enum Argument: Codable, Sendable {
      case number(Int)
      case path(BytePath)
      /// Bytes that the kernel reads or writes.
      case bytes(Data)
      /// A null-terminated list of texts.
      case list([String])
      /// What an earlier call returned, counted from 0.
      case result(Int)
    }

    package var name: String
    /// Its number, where libseccomp does not know the name.
    package var number: Int?
    package var arguments: [Argument]

    package init(_ name: String, _ arguments: Argument..., number: Int? = nil) {
      self.name = name
      self.number = number
      self.arguments = arguments
    }
  }

  /// What became of a call.
  package struct Outcome: Codable, Hashable, Sendable {
    package var result: Int
    /// The error, 0 if there was none.
    package var error: Int32
  }

  package var before: [Call] = []
  package var limits: ProcessLimits?
  /// `nil` for none: what the same calls do without a sandbox.
  package var policy: SandboxPolicy?
  package var within: [Call] = []
  /// The program to become, with its arguments, after the calls `before`.
  package var program: [BytePath]?
  /// Whether a thread is started first.
  package var startsThread = false

  package init(policy: SandboxPolicy?) { self.policy = policy }
}
