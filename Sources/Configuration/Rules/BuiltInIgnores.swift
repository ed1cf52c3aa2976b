/// Files that are never ingested, whatever the configuration says: those of unfinished
/// transfers, editors, file managers, synchronizers and NAS devices.
package enum BuiltInIgnores {
  /// A pattern for file and folder names, with its reason.
  package struct Rule: Sendable {
    /// The pattern, which contains no slash except at the end.
    package let glob: Glob
    /// What such files and folders are, for messages.
    package let reason: String
  }

  /// The rules; messages name the first that matches.
  package static let rules: [Rule] = table.map { pattern, reason in
    do throws(ConfigurationError) {
      return Rule(glob: try Glob(pattern), reason: reason)
    } catch {
      // The table is constant, and a test compiles it completely.
      preconditionFailure(error.message)
    }
  }

  private static let table: [(pattern: String, reason: String)] = [
    // Unfinished transfers, which are renamed when they are complete.
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
    ("~$*", "a lock file of an office program"),
    (".~lock.*#", "a lock file of an office program"),
    ("*.swp", "a swap file of an editor"),
    // Operating systems.
    ("._*", "macOS metadata"),
    (".DS_Store", "macOS metadata"),
    ("__MACOSX", "macOS metadata"),
    ("Thumbs.db", "Windows metadata"),
    ("ehthumbs.db", "Windows metadata"),
    ("desktop.ini", "Windows metadata"),
    ("$RECYCLE.BIN", "a recycle bin"),
    ("System Volume Information", "Windows metadata"),
    ("lost+found/", "fragments found by a file system check"),
    (".nfs*", "a deleted file that is still open"),
    // NAS devices and synchronizers.
    ("@eaDir", "metadata of a NAS device"),
    ("#recycle", "a recycle bin of a NAS device"),
    ("#snapshot", "snapshots of a NAS device"),
    ("@Recycle", "a recycle bin of a NAS device"),
    ("@Recently-Snapshot", "snapshots of a NAS device"),
    (".stfolder", "a marker of Syncthing"),
    (".stversions", "old versions kept by Syncthing"),
    // All other hidden files.
    (".*", "a dot file or folder"),
  ]
}
