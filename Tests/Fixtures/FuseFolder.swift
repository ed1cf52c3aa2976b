import Foundation
package import PipelineModel

/// A program that shows the files of a folder, read-only, on a FUSE file system: what
/// is put into the folder behind it makes no event there.
///
/// It speaks the kernel's own protocol (linux/fuse.h), because libfuse needs a
/// helper that is not everywhere. `fuse-folder BEHIND MOUNTPOINT` mounts and
/// goes on in the background until it is unmounted.
package struct FuseFolder: Sendable {
  /// The compiled program.
  package let path: BytePath

  /// Whether the machine has the device that such file systems are served by.
  package static let isPossible = FileManager.default.fileExists(atPath: "/dev/fuse")

  /// Compiles `Tests/C/fuse-folder.c` into a folder.
  package init(in folder: BytePath) throws {
    path = folder.appending("fuse-folder")
    try CompiledC.program("fuse-folder").write(to: path)
  }
}
