import Files
import Glibc
package import PipelineModel

/// The queues in which the kernel keeps changes of folders until they are read. Source: inotify(7).
package enum EventQueue {
  /// How many events the kernel keeps in each.
  package static func capacity() throws -> Int {
    let text = try Descriptor.openFolder("/proc/sys/fs/inotify").readFile("max_queued_events")
    guard let count = Int(String(decoding: text, as: UTF8.self).prefix { $0.isNumber }) else {
      throw BuiltProgramError("The kernel does not say how many events it keeps.")
    }
    return count
  }

  /// Makes two files in a folder, and changes them until the queue of whoever watches it is full.
  ///
  /// In turn, because the kernel merges two equal events. None of a later change is kept.
  package static func overflow(_ folder: BytePath) throws {
    let names: [BytePath] = ["one", "other"]
    let files = try names.map { name in
      let file = try Descriptor.open(
        folder.appending(name), flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
      try file.write(name.bytes)
      return file
    }
    for _ in 0...(try capacity() / 2) {
      for file in files { fchmod(file.number, 0o644) }
    }
  }
}
