internal import CSandbox
import Files
import Glibc
import PipelineModel

/// A program as it will really be started: what the kernel loads, with what arguments.
///
/// Scripts are taken apart here, not by the kernel or by `env`, so that one execve(2)
/// is enough and all later ones can be denied.
struct StartedProgram {
  /// The file that the kernel loads.
  var path: BytePath
  /// All arguments, the name that it is called by first.
  var arguments: [BytePath]
  /// What it must be able to read besides: its script, its interpreter's installation.
  var read: [BytePath]
  /// What it must be able to execute: itself and its loader.
  var execute: [BytePath]

  /// As many interpreters of interpreters as the kernel takes.
  private static let deepest = 4

  /// Finds a program and what it needs.
  ///
  /// - Parameter program: a path; without a slash it is looked for in the system's folders.
  init(finding program: BytePath, arguments: [BytePath]) throws(SandboxError) {
    var path = try Self.find(program)
    var words = arguments
    var name = program
    read = []
    for _ in 0...Self.deepest {
      let head = try Self.head(of: path)
      if head.starts(with: Self.magic) {
        self.path = path
        self.arguments = [name] + words
        execute = [path] + (try Self.loader(of: path, head))
        return
      }
      let script = try Interpreter(line: head, of: path)
      read.append(path)
      words = script.arguments + [path] + words
      name = script.program
      path = try Self.find(script.program, for: path)
      read += Self.installation(of: path)
    }
    throw SandboxError(
      .program, "“\(program.printable)” has interpreters of interpreters without end.",
      path: program)
  }

  private static let magic = [0x7F] + Array("ELF".utf8)

  private static func find(
    _ program: BytePath, for script: BytePath? = nil
  ) throws(SandboxError) -> BytePath {
    let needed = script.map { ", which “\($0.printable)” names in its first line," } ?? ""
    guard !program.bytes.contains(UInt8(ascii: "/")) else {
      if isProgram(program) { return program }
      let code = errno
      let reason = code == 0 ? "it is not a file" : String(cString: strerror(code))
      throw SandboxError(
        .program,
        "The program “\(program.printable)”\(needed) can't be started: \(reason)."
          + (code == EACCES ? " Is it executable? (chmod +x)" : ""),
        path: program, cause: code)
    }
    for folder in SystemPaths.search {
      let path = folder.appending(program)
      if isProgram(path) { return path }
    }
    let places = SystemPaths.search.map(\.printable).joined(separator: ", ")
    throw SandboxError(
      .program, "The program “\(program.printable)”\(needed) is not in any of \(places).",
      path: program, cause: ENOENT)
  }

  /// Whether a path is that of a file that may be executed; if not, `errno` says why.
  private static func isProgram(_ path: BytePath) -> Bool {
    var status = stat()
    errno = 0
    return path.withCString { text in
      guard stat(text, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
      return access(text, X_OK) == 0
    }
  }

  /// Reads the beginning of a file, as much as the kernel looks at.
  private static func head(of path: BytePath) throws(SandboxError) -> [UInt8] {
    do throws(FileError) {
      let file = try Descriptor.open(path, flags: O_RDONLY)
      return try file.read(upTo: 4096, at: 0)
    } catch {
      throw SandboxError(
        .program, "The program can't be started. \(error.message)", path: path,
        cause: error.errno)
    }
  }

  /// Returns the loader that a program asks for; none if it is linked statically. Source: elf(5).
  private static func loader(
    of path: BytePath, _ head: [UInt8]
  ) throws(SandboxError) -> [BytePath] {
    do throws(FileError) {
      let file = try Descriptor.open(path, flags: O_RDONLY)
      return try file.loader(head).map { [$0] } ?? []
    } catch {
      throw SandboxError(
        .program, "The program can't be started. \(error.message)", path: path,
        cause: error.errno)
    }
  }

  /// Returns what belongs to an interpreter: the folder that has its `bin` and its `lib`.
  ///
  /// Both for the path as it is and for what a link leads to, because an environment of
  /// Python is a folder with a link to the interpreter. Never a person's whole home.
  private static func installation(of path: BytePath) -> [BytePath] {
    let real: BytePath
    do throws(FileError) {
      real = try FileSystem.realPath(of: path)
    } catch {
      // What can't be resolved can't be started either, and is reported then.
      return []
    }
    var found: [BytePath] = real == path ? [] : [real]
    for folder in [path.parent, real.parent] where folder.lastComponent == "bin" {
      let prefix = folder.parent
      let depth = prefix.components.count
      let isHome = prefix.components.first == "home" && depth < 3 || prefix == "/root"
      let isSystem = depth == 0 || ["/usr", "/usr/local"].contains(prefix)
      let hasLibraries = prefix.appending("lib").withCString { access($0, F_OK) == 0 }
      if !isHome, !isSystem, hasLibraries, !found.contains(prefix) { found.append(prefix) }
    }
    return found
  }
}
