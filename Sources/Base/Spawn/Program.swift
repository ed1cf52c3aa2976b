import CSpawn
import Glibc
package import PipelineModel

/// Programs that are started without a shell.
package enum Program {
  /// Starts a program with default signal handling, and with no descriptors but those named.
  /// Source: posix_spawn(3).
  ///
  /// - Parameters:
  ///   - arguments: all of them, beginning with its name.
  ///   - environment: all of it, as `NAME=value`.
  ///   - descriptors: what become its descriptors, beginning with standard input; `nil` for
  ///     `/dev/null`.
  ///   - folder: its working folder; `nil` for this process's.
  ///   - leadsGroup: whether it leads a process group of its own.
  /// - Returns: the ID of its process.
  package static func start(
    _ program: BytePath, arguments: [BytePath], environment: [BytePath], descriptors: [Int32?],
    folder: BytePath? = nil, leadsGroup: Bool = false
  ) throws(SpawnError) -> Int32 {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    let codes =
      prepare(&actions, descriptors, folder) + prepare(&attributes, leadsGroup: leadsGroup)
    if let code = codes.first(where: { $0 != 0 }) { throw SpawnError("prepare the program", code) }
    var id: Int32 = 0
    let code = withCStrings(arguments) { arguments in
      withCStrings(environment) { environment in
        program.withCString { posix_spawn(&id, $0, &actions, &attributes, arguments, environment) }
      }
    }
    guard code == 0 else { throw SpawnError("start the program", code) }
    return id
  }

  /// Makes a pipe whose ends are close-on-exec, to read what a program writes. Source: pipe2(2).
  package static func makePipe() throws(SpawnError) -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipeline_pipe(&ends, O_CLOEXEC) == 0 else { throw SpawnError("make a pipe", errno) }
    return (ends[0], ends[1])
  }

  /// - Returns: error numbers, or zeros.
  private static func prepare(
    _ actions: inout posix_spawn_file_actions_t, _ descriptors: [Int32?], _ folder: BytePath?
  ) -> [Int32] {
    var codes = descriptors.enumerated().map { index, descriptor in
      let place = Int32(index)
      return descriptor.map { posix_spawn_file_actions_adddup2(&actions, $0, place) }
        ?? posix_spawn_file_actions_addopen(&actions, place, "/dev/null", O_RDONLY, 0)
    }
    codes.append(pipeline_spawn_closing_from(&actions, Int32(descriptors.count)))
    if let folder {
      codes.append(folder.withCString { pipeline_spawn_in_folder(&actions, $0) })
    }
    return codes
  }

  /// - Returns: error numbers, or zeros.
  private static func prepare(_ attributes: inout posix_spawnattr_t, leadsGroup: Bool) -> [Int32] {
    // The program must not inherit the signals that this one ignores or blocks.
    var (all, none) = (sigset_t(), sigset_t())
    sigfillset(&all)
    sigemptyset(&none)
    let flags =
      POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (leadsGroup ? POSIX_SPAWN_SETPGROUP : 0)
    return [
      posix_spawnattr_setsigdefault(&attributes, &all),
      posix_spawnattr_setsigmask(&attributes, &none),
      posix_spawnattr_setpgroup(&attributes, 0),
      posix_spawnattr_setflags(&attributes, Int16(flags)),
    ]
  }

  /// Calls `body` with a null-terminated array of C strings.
  private static func withCStrings<Result>(
    _ texts: [BytePath], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { $0.withCString { strdup($0) } }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    return body(&pointers)
  }
}

/// Why a program can't be started, with the kernel's error number.
package struct SpawnError: Error {
  /// The error number. Source: errno(3).
  package let number: Int32
  /// What failed, worded to follow “can't”.
  package let operation: String

  /// Creates an error of a failed operation.
  package init(_ operation: String, _ number: Int32) {
    self.operation = operation
    self.number = number
  }

  /// The kernel's words for it.
  package var words: String { String(cString: strerror(number)) }
}
