import CLinux
import Glibc
package import PipelineModel

/// This process, as it is started and ended by another one.
package enum OwnProcess {
  /// Asks the kernel to end this process when the thread that started it ends. Source: prctl(2).
  ///
  /// - Parameter parent: the process that is expected to be the parent; if it is
  ///   not, it has ended already, and so does this one.
  package static func endWithParent(_ parent: Int32) {
    // Fails for a wrong signal only.
    _ = pipeline_end_with_parent(SIGKILL)
    if getppid() != parent { _exit(0) }
  }

  /// Becomes the parent of processes whose own has ended, however deep below. Source: prctl(2).
  package static func adoptOrphans() {
    // Fails for a wrong argument only.
    _ = pipeline_adopt_orphans()
  }

  /// Asks the kernel to end this process before any other when memory runs out, and all that it
  /// will start. Source: proc_pid_oom_score_adj(5).
  package static func offerToBeEnded() throws(FileError) {
    try Descriptor.open("/proc/self/oom_score_adj", flags: O_WRONLY).write(Array("1000".utf8))
  }

  /// Changes the working folder. Source: chdir(2).
  package static func enter(_ folder: BytePath) throws(FileError) {
    try systemCall("enter", folder) { folder.withCString { chdir($0) } }
  }

  /// Gives another number to a descriptor. Source: dup2(2).
  package static func replace(_ number: Int32, by other: Int32) throws(FileError) {
    try systemCall("copy", nil) { dup2(other, number) }
  }

  /// Makes a second number for a descriptor. Source: fcntl(2).
  package static func duplicate(_ number: Int32, path: BytePath) throws(FileError) -> Descriptor {
    let copy = try systemCall("copy", path) { pipeline_fcntl(number, F_DUPFD_CLOEXEC, 3) }
    return Descriptor(takingOver: copy, path: path)
  }
}
