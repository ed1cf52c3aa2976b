package import PipelineModel

/// A library to be preloaded that makes the system behave in ways that are rare and allowed.
package struct SystemShim: Sendable {
  /// The compiled library.
  package let path: BytePath

  /// What happens to a file in the instant before it is opened for the first time.
  package enum Event: String, Sendable {
    case vanishes, becomesLink
  }

  /// Compiles `Tests/C/system.c` into a folder.
  package init(in folder: BytePath) throws {
    path = folder.appending("system.so")
    try CompiledC.library("system").write(to: path)
  }

  private var base: [String: String] { ["LD_PRELOAD": path.description] }

  /// Writes take a few bytes only, and every other read or write is interrupted by a signal.
  package var dribbling: [String: String] { base.merging(["PIPELINE_SYSTEM_DRIBBLES": "1"]) { $1 } }

  /// Reading a file fails with EIO.
  package func unreadable(inode: UInt64) -> [String: String] {
    base.merging(["PIPELINE_SYSTEM_UNREADABLE": "\(inode)"]) { $1 }
  }

  /// The wall clock is off by seconds.
  package func clock(off seconds: Int) -> [String: String] {
    base.merging(["PIPELINE_SYSTEM_CLOCK": "\(seconds)"]) { $1 }
  }

  /// No flush of a file with a piece of text in its path ever ends.
  package func endlessSyncs(of text: String) -> [String: String] {
    base.merging(["PIPELINE_SYSTEM_SYNC": text]) { $1 }
  }

  /// The clock by which is waited goes a day ahead as soon as there is a file.
  package func clock(aheadWith file: BytePath) -> [String: String] {
    base.merging(["PIPELINE_SYSTEM_AHEAD": file.description]) { $1 }
  }

  /// Something happens to the file of a name just before it is opened.
  ///
  /// - Parameter target: what a link leads to.
  package func before(
    opening name: String, _ event: Event, target: BytePath = "/nowhere"
  ) -> [String: String] {
    base.merging([
      "PIPELINE_SYSTEM_NAME": name, "PIPELINE_SYSTEM_EVENT": event.rawValue,
      "PIPELINE_SYSTEM_TARGET": target.description,
    ]) { $1 }
  }

  /// Files with a piece of text in their path are on a file system of a type, by statfs(2).
  package func fileSystem(of text: String, type: Int) -> [String: String] {
    base.merging(["PIPELINE_SYSTEM_PLACE": text, "PIPELINE_SYSTEM_TYPE": "\(type)"]) { $1 }
  }
}
