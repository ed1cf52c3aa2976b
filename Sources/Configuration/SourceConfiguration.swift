package import PipelineModel

/// One watched folder with its rules.
package struct SourceConfiguration: Sendable, Hashable {
  /// What becomes of a file in the source once its bytes are safe.
  package enum Mode: String, Sendable, Hashable, CaseIterable {
    /// The source file is removed.
    case move
    /// The source file stays, and is not taken again unless it changes.
    case copy
  }

  /// When a file is complete.
  package enum Completion: String, Sendable, Hashable, CaseIterable {
    /// It was quiet for one settle window, and nobody has it open for writing.
    case quiet
    /// It was closed, and no writer is left.
    case close
  }

  /// What to do with content that is stored already.
  package enum Duplicates: String, Sendable, Hashable, CaseIterable {
    /// The source file is removed, after the stored original was read and hashed again.
    case discard
    /// The source file stays where it is.
    case keep
    /// The source file moves to `duplicates/` in the library.
    case file
    /// A second asset is made on the same original.
    case asset
  }

  /// How bytes get from the source into the library.
  package enum Taking: String, Sendable, Hashable, CaseIterable {
    /// By rename where that is safe, else by reflink, else by copy.
    case auto
    /// Always by copy.
    case copy
  }

  /// What becomes of folders that the program emptied.
  package enum EmptyFolders: String, Sendable, Hashable, CaseIterable {
    /// They stay.
    case keep
    /// They are removed, but never the source itself.
    case remove
  }

  /// The folder, absolute and normalized.
  package var path: BytePath
  /// What becomes of files taken; by default `copy`, since removing should be asked for.
  package var mode = Mode.copy
  /// Whether folders inside are looked into; by default they are.
  package var recursive = true
  /// How long a file must be quiet; by default two seconds.
  package var settle = TimeSpan(milliseconds: 2000)
  /// When a file is complete; by default when it is `quiet`.
  package var complete = Completion.quiet
  /// What is taken; by default everything.
  package var include = [Glob.everything]
  /// What is not taken, beside the built-in ignores; by default nothing.
  package var exclude: [Glob] = []
  /// What to do with content that is stored already; by default `discard`.
  package var duplicates = Duplicates.discard
  /// How bytes are taken; by default `auto`.
  package var take = Taking.auto
  /// What becomes of emptied folders; by default they are kept.
  package var emptyFolders = EmptyFolders.keep
  /// The share of known files, from 0 to 1, that may be missing at once without the user's word;
  /// by default one half. Up to 20 files may always be.
  package var maxMissing = 0.5

  /// Makes a source of defaults.
  ///
  /// - Parameter path: An absolute, normalized path.
  package init(path: BytePath) { self.path = path }
}
