package import PipelineModel

/// A watched folder and its rules.
package struct SourceConfiguration: Sendable, Hashable {
  /// What to do with a source file once its bytes are safe.
  package enum Mode: String, Sendable, Hashable, CaseIterable {
    case move
    /// Keep it, and import it again only if it changes.
    case copy
  }

  /// When a file is complete.
  package enum Completion: String, Sendable, Hashable, CaseIterable {
    /// It was quiet for one settle window, and no process has it open for writing.
    case quiet
    /// It was closed, and no writer is left.
    case close
  }

  /// What to do with content that is already stored.
  package enum Duplicates: String, Sendable, Hashable, CaseIterable {
    /// Remove the source file after the stored original was read and hashed again.
    case discard
    /// Leave the source file where it is.
    case keep
    /// Move the source file to `duplicates/` in the library.
    case file
    /// Make a second asset with the same original.
    case asset
  }

  /// How to transfer bytes from the source into the library.
  package enum TransferMode: String, Sendable, Hashable, CaseIterable {
    /// By rename if that is safe, otherwise by reflink or copy.
    case auto
    case copy
  }

  /// What to do with folders that the program emptied.
  package enum EmptyFolders: String, Sendable, Hashable, CaseIterable {
    case keep
    /// Remove them, but never the source itself.
    case remove
  }

  /// The folder, absolute and normalized.
  package var path: BytePath
  /// What to do with imported files; by default `copy`, because removal should be explicit.
  package var mode = Mode.copy
  /// Whether to scan subfolders; by default true.
  package var recursive = true
  /// How long a file must be quiet; by default two seconds.
  package var settle = TimeSpan(milliseconds: 2000)
  /// When a file is complete; by default `quiet`.
  package var complete = Completion.quiet
  /// Files to import; by default all.
  package var include = [Glob.everything]
  /// Files and folders to ignore in addition to the built-in ignores; by default none.
  package var exclude: [Glob] = []
  /// What to do with content that is already stored; by default `discard`.
  package var duplicates = Duplicates.discard
  /// How to transfer bytes; by default `auto`.
  package var take = TransferMode.auto
  /// What to do with emptied folders; by default `keep`.
  package var emptyFolders = EmptyFolders.keep
  /// The name of a folder that several machines reach, of which one at a time takes files; by default none.
  package var shared: String?
  /// The share of known files, from 0 to 1, that may be missing at once without confirmation; by
  /// default one half. Up to 20 files may always be missing.
  package var maxMissing = 0.5

  /// Makes a source with default values.
  ///
  /// - Parameter path: An absolute, normalized path.
  package init(path: BytePath) { self.path = path }
}
