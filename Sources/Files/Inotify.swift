import CLinux
import Glibc
package import PipelineModel

/// The kernel's queue of changes to folders that are watched. Source: inotify(7).
///
/// Reading never blocks. Closing it lets the watches go.
package final class Inotify: Sendable {
  /// The number that the kernel gives a watch; none is used twice.
  package typealias Watch = Int32

  /// One change, or something that the kernel says about a watch or the queue.
  package struct Event: Hashable, Sendable {
    /// The watch, -1 for what concerns the whole queue.
    package var watch: Watch
    package var changes: Changes
    /// The name in the watched folder, empty for the folder itself.
    package var name: BytePath
  }

  /// What changed. Source: inotify(7).
  package struct Changes: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A name was made: a new file or folder, or another link to a file.
    package static let created = Changes(rawValue: UInt32(IN_CREATE))
    /// A file that was open for writing was closed.
    package static let closed = Changes(rawValue: UInt32(IN_CLOSE_WRITE))
    /// Something was renamed to this name.
    package static let movedIn = Changes(rawValue: UInt32(IN_MOVED_TO))
    /// Permissions, times, owner or the number of links changed.
    package static let attributes = Changes(rawValue: UInt32(IN_ATTRIB))
    /// The watched folder itself was renamed.
    package static let movedItself = Changes(rawValue: UInt32(IN_MOVE_SELF))
    /// The watched folder itself was removed.
    package static let deletedItself = Changes(rawValue: UInt32(IN_DELETE_SELF))
    /// What the event is about is a folder.
    package static let isFolder = Changes(rawValue: UInt32(IN_ISDIR))
    /// The watch is gone.
    package static let ended = Changes(rawValue: UInt32(IN_IGNORED))
    /// The file system was unmounted.
    package static let unmounted = Changes(rawValue: UInt32(IN_UNMOUNT))
    /// The queue was full: changes were lost.
    package static let overflowed = Changes(rawValue: UInt32(IN_Q_OVERFLOW))

    /// All that is asked for. Not every write: who holds a file open for writing is seen by
    /// the read lease, and what was written shows in size and times.
    static let wanted: Changes = [
      .created, .closed, .movedIn, .attributes, .movedItself, .deletedItself,
    ]
  }

  /// Readable when there is something to tell.
  package let queue: Descriptor

  /// Makes an empty queue.
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
        .watcherLimit, "The kernel lets this user have no more queues of changes.", path: nil)
    }
  }

  /// Watches a folder; one that is watched already keeps its number.
  ///
  /// The open folder itself is watched, whatever name it has by now.
  ///
  /// - Throws: `FileError` of code `watchLimit` if this user has too many.
  package func watch(_ folder: Descriptor) throws(FileError) -> Watch {
    let flags = Changes.wanted.rawValue | UInt32(IN_ONLYDIR) | UInt32(IN_EXCL_UNLINK)
    // inotify has no call that takes a descriptor; /proc has a name for each.
    let name = BytePath("/proc/self/fd/\(folder.number)")
    while true {
      let watch = name.withCString { inotify_add_watch(queue.number, $0, flags) }
      if watch >= 0 { return watch }
      let code = errno
      switch code {
      case EINTR: continue
      case ENOSPC:
        throw FileError(
          .watchLimit, "The kernel lets this user watch no more folders.", path: folder.path)
      default: throw FileError("watch", folder.path, errno: code)
      }
    }
  }

  /// Lets a watch go; one that is gone already doesn't matter.
  package func end(_ watch: Watch) { _ = inotify_rm_watch(queue.number, watch) }

  /// Returns what has happened since the last call; nothing if nothing has.
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
