import CLinux
import Glibc
package import PipelineModel

/// The kernel's queue of changes to watched folders. Source: inotify(7).
///
/// Reading never blocks. Closing the queue removes its watches.
package final class Inotify: Sendable {
  /// The kernel's number for a watch; never reused.
  package typealias Watch = Int32

  /// A change, or a notice about a watch or the queue.
  package struct Event: Hashable, Sendable {
    /// The watch; -1 for the whole queue.
    package var watch: Watch
    package var changes: Changes
    /// The name in the watched folder; empty for the folder itself.
    package var name: BytePath
  }

  /// What changed. Source: inotify(7).
  package struct Changes: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A name was created: a new file or folder, or another link to a file.
    package static let created = Changes(rawValue: UInt32(IN_CREATE))
    /// A file was written to.
    package static let written = Changes(rawValue: UInt32(IN_MODIFY))
    /// A file open for writing was closed.
    package static let closed = Changes(rawValue: UInt32(IN_CLOSE_WRITE))
    /// Something was renamed to this name.
    package static let movedIn = Changes(rawValue: UInt32(IN_MOVED_TO))
    /// Permissions, times, owner or the number of links changed.
    package static let attributes = Changes(rawValue: UInt32(IN_ATTRIB))
    package static let movedItself = Changes(rawValue: UInt32(IN_MOVE_SELF))
    package static let deletedItself = Changes(rawValue: UInt32(IN_DELETE_SELF))
    /// The event concerns a folder.
    package static let isFolder = Changes(rawValue: UInt32(IN_ISDIR))
    /// The watch is gone.
    package static let ended = Changes(rawValue: UInt32(IN_IGNORED))
    package static let unmounted = Changes(rawValue: UInt32(IN_UNMOUNT))
    /// The queue overflowed: changes were lost.
    package static let overflowed = Changes(rawValue: UInt32(IN_Q_OVERFLOW))

    /// What is asked for in a source. Not every write: the read lease detects open writers, and size
    /// and times show what was written.
    package static let ofSource: Changes = [
      .created, .closed, .movedIn, .attributes, .movedItself, .deletedItself,
    ]
  }

  /// Readable when events are waiting.
  package let queue: Descriptor

  /// Creates an empty queue.
  ///
  /// - Throws: `FileError` of code `watcherLimit` if this user has too many.
  package init() throws(FileError) {
    do throws(FileError) {
      let number = try systemCall("watch", nil) {
        inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
      }
      queue = Descriptor(takingOver: number, path: "inotify")
    } catch let error where error.code == .tooManyOpen {
      throw FileError(
        .watcherLimit, "This user has reached the kernel's limit of inotify instances.", path: nil)
    }
  }

  /// Watches a folder; a folder already watched keeps its number.
  ///
  /// Watches the open folder itself, whatever its current name.
  ///
  /// - Parameter changes: what to report of it and of the names in it.
  /// - Throws: `FileError` of code `watchLimit` if this user has too many.
  package func watch(
    _ folder: Descriptor, for changes: Changes = .ofSource
  ) throws(FileError) -> Watch {
    let flags = changes.rawValue | UInt32(IN_ONLYDIR) | UInt32(IN_EXCL_UNLINK)
    // inotify takes no descriptors, but /proc has a name for each.
    let name = BytePath("/proc/self/fd/\(folder.number)")
    while true {
      let watch = name.withCString { inotify_add_watch(queue.number, $0, flags) }
      if watch >= 0 { return watch }
      let code = errno
      switch code {
      case EINTR: continue
      case ENOSPC:
        throw FileError(
          .watchLimit, "This user has reached the kernel's limit of inotify watches.",
          path: folder.path)
      default: throw FileError("watch", folder.path, errno: code)
      }
    }
  }

  /// Removes a watch; does nothing if it is already gone.
  package func end(_ watch: Watch) { _ = inotify_rm_watch(queue.number, watch) }

  /// Returns the events since the last call, if any.
  package func read() throws(FileError) -> [Event] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 8)
    defer { buffer.deallocate() }
    do throws(FileError) {
      let count = try queue.read(into: buffer)
      return Self.events(in: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    } catch let error where error.code == .busy {
      return []
    }
  }

  private static func events(in buffer: UnsafeRawBufferPointer) -> [Event] {
    let header = MemoryLayout<inotify_event>.size
    var events: [Event] = []
    var offset = 0
    while offset + header <= buffer.count {
      let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
      let end = min(buffer.count, offset + header + Int(event.len))
      let name = buffer[(offset + header)..<end].prefix { $0 != 0 }
      events.append(
        Event(
          watch: event.wd, changes: Changes(rawValue: event.mask), name: BytePath(bytes: name)))
      offset = end
    }
    return events
  }
}
