import Configuration
import Files
import Fixtures
import PipelineModel
import PipelinePlugin

@testable import PluginHost

/// A plugin in a few lines of shell, for workers that do what a test wants.
struct ShellPlugin {
  let manifest: PluginManifest
  let program: WorkerProgram

  /// A backend of it that need not ask what it is.
  var backend: WorkerBackend { WorkerBackend(program, manifest: manifest) }

  /// Writes the script.
  ///
  /// Each result has a fact `count`: how many jobs the worker has had.
  ///
  /// - Parameters:
  ///   - process: what a job does, in shell, in its folder for output. It may set `more`, what is
  ///     to follow the number in the facts, and `members`, what is to follow the facts.
  ///   - create: what it does to be set up, in shell.
  ///   - estimate: what a question for memory does, in shell.
  ///   - mayExecute: whether it may start programs.
  ///   - places: what it may read besides its script.
  ///   - host: the program that workers are started by.
  init(
    process: String = ":", create: String = #"echo '{"type":"created"}'"#,
    estimate: String = #"echo '{"type":"estimates","bytes":[4096]}'"#,
    mayExecute: Bool = false, reading places: [BytePath] = [],
    host: BytePath = BuiltProgram.path, in folder: BytePath
  ) throws {
    manifest = FakeBackend.manifest("shell", estimates: true)
    let script = """
      count=0
      while read -r line; do
        case $line in
        *'"type":"hello"'*)
          echo '{"type":"manifest","protocol":1,"manifest":\(try JSONText.encode(manifest))}' ;;
        *'"type":"create"'*)
          \(create) ;;
        *'"type":"estimate"'*)
          \(estimate) ;;
        *'"type":"process"'*)
          count=$((count + 1)) more= members=
          job=${line#*'"job":"'} job=${job%%'"'*}
          \(process)
          result='{"outcome":"done","facts":{"count":'$count$more'}'$members'}'
          echo '{"type":"result","job":"'$job'","result":'$result'}' ;;
        esac
      done
      """
    try Descriptor.openFolder(folder).writeDurably(Array(script.utf8), as: "plugin.sh")
    let file = folder.appending("plugin.sh")
    var allowance = StageAllowance()
    allowance.read = [file] + places
    allowance.exec = mayExecute
    program = WorkerProgram(.executable(["/bin/sh", file]), host: host, allowance: allowance)
  }
}
