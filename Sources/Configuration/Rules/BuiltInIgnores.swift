/// What is never taken, whatever the configuration says: traces of transfers that are
/// under way, of editors, file managers, synchronizers and storage boxes.
package enum BuiltInIgnores {
  /// A pattern for the name of a file or folder, and what it is for.
  package struct Rule: Sendable {
    /// The pattern, without a slash but for one at the end.
    package let glob: Glob
    /// What such files and folders are, for people.
    package let reason: String
  }

  /// The rules; the first that matches is the one that is named.
  package static let rules: [Rule] = table.map { pattern, reason in
    do throws(ConfigurationError) {
      return Rule(glob: try Glob(pattern), reason: reason)
    } catch {
      // The table is constant, and a test compiles all of it.
      preconditionFailure(error.message)
    }
  }

  private static let table: [(pattern: String, reason: String)] = [
    // Transfers under way. Renamed when they are complete, and taken then.
    ("*.part", "an unfinished download"),
    ("*.partial", "an unfinished download"),
    ("*.filepart", "an unfinished upload"),
    ("*.crdownload", "an unfinished download"),
    ("*.download", "an unfinished download"),
    ("*.opdownload", "an unfinished download"),
    ("*.aria2", "an unfinished download"),
    ("*.tmp", "a temporary file"),
    ("*.temp", "a temporary file"),
    (".syncthing.*", "an unfinished synchronization"),
    ("~syncthing~*", "an unfinished synchronization"),
    // Editors.
    ("*~", "a backup copy of an editor"),
    ("~$*", "a lock of an office program"),
    (".~lock.*#", "a lock of an office program"),
    ("*.swp", "a swap file of an editor"),
    // What systems leave in folders.
    ("._*", "macOS metadata"),
    (".DS_Store", "macOS metadata"),
    ("__MACOSX", "macOS metadata"),
    ("Thumbs.db", "Windows metadata"),
    ("ehthumbs.db", "Windows metadata"),
    ("desktop.ini", "Windows metadata"),
    ("$RECYCLE.BIN", "a recycle bin"),
    ("System Volume Information", "Windows metadata"),
    ("lost+found/", "fragments found by a file system check"),
    (".nfs*", "a deleted file that somebody still has open"),
    // Storage boxes and synchronizers.
    ("@eaDir", "metadata of a storage box"),
    ("#recycle", "a recycle bin of a storage box"),
    ("#snapshot", "snapshots of a storage box"),
    ("@Recycle", "a recycle bin of a storage box"),
    ("@Recently-Snapshot", "snapshots of a storage box"),
    (".stfolder", "a marker of Syncthing"),
    (".stversions", "old versions kept by Syncthing"),
    // All others that hide themselves.
    (".*", "a dot file or folder"),
  ]
}
