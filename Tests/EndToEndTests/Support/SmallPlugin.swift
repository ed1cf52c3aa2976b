import PipelineModel

/// A plugin of a few lines of shell, in a folder of its own.
enum SmallPlugin {
  /// The stage that runs it.
  static let stage: JSONValue = ["name": "mine", "plugin": "mine", "command": ["mine/mine.sh"]]

  /// Writes it.
  ///
  /// - Parameter process: what it does for a job, in shell.
  static func write(into workspace: Workspace, process: String = ":") throws {
    let manifest =
      #"{"id":"mine","version":"1","outputVersion":1,"scope":"original","options":{"type":"object"},"facts":["n"],"#
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
    try workspace.makeFolder("mine")
    try workspace.write(Array(source.utf8), to: "mine/mine.sh")
    try Unprivileged.shell("chmod 755 . mine mine/mine.sh", in: workspace)
  }
}
