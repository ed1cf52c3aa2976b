package import PipelineModel

/// A library to be preloaded that kills a process right before or after one call, or lets the call
/// fail, chosen by what the call is about instead of by its number.
package struct MomentShim: Sendable {
  /// The compiled library.
  package let path: BytePath

  /// A call of a process.
  package struct Moment: Sendable, CustomStringConvertible {
    /// What a call does; a name stands for all calls that do it.
    package enum Call: String, Sendable {
      case write, flush, rename, chmod, unlink
    }

    /// Whether the process dies instead of the call or when it is done.
    package enum Side: String, Sendable, CaseIterable {
      case before, after
    }

    /// The side of the call on which the process dies.
    package let side: Side
    private let call: Call
    private let place: String
    private let bytes: String?
    private let preceding: String?

    /// Chooses the first call that fits.
    ///
    /// - Parameters:
    ///   - place: a piece of the path of the file; of the new path where there are two.
    ///   - bytes: a piece of what is written.
    ///   - preceding: a piece of what must have been written before, to any file.
    package init(
      _ side: Side, _ call: Call, of place: String, containing bytes: String? = nil,
      behind preceding: String? = nil
    ) {
      self.side = side
      self.call = call
      self.place = place
      self.bytes = bytes
      self.preceding = preceding
    }

    package var description: String {
      "\(side) \(call) of \(place)" + (bytes.map { " with \($0)" } ?? "")
        + (preceding.map { " behind \($0)" } ?? "")
    }

    fileprivate var variables: [String: String] {
      var variables = [
        "PIPELINE_MOMENT_SIDE": side.rawValue, "PIPELINE_MOMENT_CALL": call.rawValue,
        "PIPELINE_MOMENT_PLACE": place,
      ]
      variables["PIPELINE_MOMENT_BYTES"] = bytes
      variables["PIPELINE_MOMENT_BEHIND"] = preceding
      return variables
    }
  }

  /// Compiles `Tests/C/moment.c` into a folder.
  package init(in folder: BytePath) throws {
    path = folder.appending("moment.so")
    try CompiledC.library("moment").write(to: path)
  }

  /// What makes a process die at a moment, with SIGKILL.
  package func killing(_ moment: Moment) -> [String: String] {
    moment.variables.merging(["LD_PRELOAD": path.description]) { $1 }
  }

  /// Lets the first call that fits fail with EIO, except a write; whatever the moment's side.
  package func failing(_ moment: Moment) -> [String: String] {
    killing(moment).merging(["PIPELINE_MOMENT_SIDE": "fail"]) { $1 }
  }
}
