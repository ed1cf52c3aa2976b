package import PipelineModel

/// A library to be preloaded that counts the calls by which a process changes files, or asks servers to change something,
/// and strikes at one.
///
/// It counts over the whole process; strace counts each thread by itself and so
/// strikes at a fraction of the calls only.
package struct PreloadShim: Sendable {
  /// The compiled library.
  package let path: BytePath
  /// Whether calls that send something to servers count, too.
  private let countsSends: Bool

  /// What happens at the chosen call.
  package enum Strike: String, Sendable, CaseIterable {
    /// SIGKILL instead of the call.
    case kill
    /// SIGKILL after half of what a write was to write; other calls as `kill`.
    case tear
    /// The call fails with EIO, or with ECONNRESET if it sends something.
    case ioError
    /// The call fails with ENOSPC.
    case noSpace
  }

  /// Compiles `Tests/C/preload.c` into a folder.
  package init(in folder: BytePath, countsSends: Bool = false) throws {
    self.countsSends = countsSends
    path = folder.appending("preload.so")
    try CompiledC.library("preload").write(to: path)
  }

  /// What makes a process count its calls into a file when it ends.
  ///
  /// Beside it, in a file with `.kinds` behind its name, is for each call `w` if it writes bytes, else
  /// `-`.
  package func counting(into file: BytePath) -> [String: String] {
    variables(["PIPELINE_PRELOAD_COUNT": file.description])
  }

  private func variables(_ more: [String: String]) -> [String: String] {
    var all = more
    all["LD_PRELOAD"] = path.description
    if countsSends { all["PIPELINE_PRELOAD_SENDS"] = "1" }
    return all
  }

  /// What makes a process suffer a strike at its n-th call.
  package func striking(_ strike: Strike, at call: Int) -> [String: String] {
    variables([
      "PIPELINE_PRELOAD_CALL": "\(call)", "PIPELINE_PRELOAD_STRIKE": strike.rawValue,
    ])
  }

  /// What makes the n-th fsync of a file fail, counted over paths with a piece of text only.
  package func striking(_ strike: Strike, atSync call: Int, of text: String) -> [String: String] {
    striking(strike, at: call).merging(["PIPELINE_PRELOAD_SYNCS": text]) { $1 }
  }
}
