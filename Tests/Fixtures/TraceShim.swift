import Foundation
package import PipelineModel

/// A library to be preloaded that writes down every call by which a process changes files.
///
/// With what it wrote, a disk can be built that lost what was not flushed. For
/// the program that then finds such a disk, it shows the inode numbers and
/// change times that the files had, which no copy of a file can have.
package struct TraceShim: Sendable {
  /// The compiled library.
  package let path: BytePath

  /// Compiles `Tests/C/trace.c` into a folder.
  package init(in folder: BytePath) throws {
    path = folder.appending("trace.so")
    try CompiledC.library("trace").write(to: path)
  }

  /// What makes a process write its trace into a file.
  package func tracing(into file: BytePath) -> [String: String] {
    ["LD_PRELOAD": path.description, "PIPELINE_TRACE_FILE": file.description]
  }

  /// What makes a process see the inode numbers and times that a file lists.
  ///
  /// - Parameter file: for each inode four numbers of 8 bytes: its number and change time as they
  ///   are, and both as they are to be shown.
  package func showing(_ file: BytePath) -> [String: String] {
    ["LD_PRELOAD": path.description, "PIPELINE_TRACE_SHOWN": file.description]
  }
}
