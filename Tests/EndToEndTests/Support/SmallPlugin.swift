import Fixtures
import PipelineModel

/// A plugin of a few lines of shell, in a folder of its own.
enum SmallPlugin {
  /// The stage that runs it.
  static let stage = stage(in: "mine")

  /// The stage that runs the one of a folder.
  static func stage(in folder: String) -> JSONValue {
    ["name": "mine", "plugin": "mine", "command": [.string("\(folder)/mine.sh")]]
  }

  /// Writes it.
  ///
  /// - Parameters:
  ///   - process: what it does for a job, in shell.
  ///   - folder: where; those of several folders make the same of their jobs, as far as the program knows.
  static func write(
    into workspace: Workspace, process: String = ":", folder: String = "mine",
    version: String = "1"
  ) throws {
    let manifest =
      #"{"id":"mine","version":"\#(version)","outputVersion":1,"scope":"original","options":{"type":"object"},"facts":["n"],"#
      + #""makesRenditions":false,"estimates":false,"runtime":""}"#
    let source = """
      #!/bin/sh
      while read -r line; do
        case $line in
        *'"type":"hello"'*) echo '{"type":"manifest","protocol":1,"manifest":\(manifest)}' ;;
        *'"type":"create"'*) echo '{"type":"created"}' ;;
        *'"type":"process"'*)
          job=${line#*'"job":"'} job=${job%%'"'*}
          \(process)
          echo '{"type":"result","job":"'$job'","result":{"outcome":"done","facts":{"n":1}}}' ;;
        esac
      done

      """
    try workspace.makeFolder(BytePath(folder))
    try workspace.write(Array(source.utf8), to: BytePath("\(folder)/mine.sh"))
    try Unprivileged.shell("chmod 755 . \(folder) \(folder)/mine.sh", in: workspace)
  }
}
