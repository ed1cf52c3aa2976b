internal import CSandbox
import Files
import Glibc
import PipelineModel

/// A program as it will really be started: the file that the kernel loads, and its arguments.
///
/// Scripts are resolved here, not by the kernel or `env`, so that one execveat(2) is enough and all
/// later ones can be denied. Files that others could replace are refused, and the file that is
/// started is the very one that was checked.
struct StartedProgram {
  /// The file that the kernel loads, opened with O_PATH.
  var file: Descriptor
  /// All arguments, starting with the name it is called by.
  var arguments: [BytePath]
  /// What else it must be able to read: its script, and its interpreter's modules.
  var read: [Descriptor]
  /// What it must be able to execute: itself and its loader.
  var execute: [Descriptor]

  /// The paths by which it and its interpreters were found; may contain links.
  private(set) var names: [BytePath]

  /// The kernel's limit of nested interpreters.
  private static let deepest = 4

  /// Finds a program and what it needs.
  ///
  /// - Parameter program: a path; a name without a slash is searched for in the system's folders.
  init(finding program: BytePath, arguments: [BytePath]) throws(SandboxError) {
    var file = try Self.find(program)
    var path = program.isAbsolute ? program : file.path
    var words = arguments
    var name = program
    read = []
    names = [program]
    for _ in 0...Self.deepest {
      let head = try Self.head(of: file)
      if head.starts(with: Self.magic) {
        self.file = file
        self.arguments = [name] + words
        let loader = try Self.loader(of: file, head)
        execute = [file] + loader.places
        names += loader.names
        names = names.flatMap { name in
          name.isAbsolute ? [name] : SystemPaths.search.map { $0.appending(name) }
        }
        return
      }
      let script = try Interpreter(line: head, of: path)
      read.append(file)
      words = script.arguments + [path] + words
      name = script.program
      names.append(name)
      file = try Self.find(script.program, for: path)
      let modules = try InterpreterModules(of: file, calledAs: script.program)
      read += modules.places
      names += modules.names
      path = script.program.isAbsolute ? script.program : file.path
    }
    throw SandboxError(
      .program, "“\(program.printable)” has too many nested interpreters.",
      path: program)
  }

  private static let magic = [0x7F] + Array("ELF".utf8)

  private static func find(
    _ program: BytePath, for script: BytePath? = nil
  ) throws(SandboxError) -> Descriptor {
    let needed = script.map { ", which “\($0.printable)” names in its first line," } ?? ""
    guard !program.bytes.contains(UInt8(ascii: "/")) else {
      if isProgram(program) { return try trusted(program, isNeeded: script != nil) }
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
      if isProgram(path) { return try trusted(path, isNeeded: script != nil) }
    }
    let places = SystemPaths.search.map(\.printable).joined(separator: ", ")
    throw SandboxError(
      .program, "The program “\(program.printable)”\(needed) is not in any of \(places).",
      path: program, cause: ENOENT)
  }

  /// Whether a path is an executable file; if not, sets `errno`.
  private static func isProgram(_ path: BytePath) -> Bool {
    do throws(FileError) {
      let place = try Descriptor.open(path, flags: Int32(pipeline_open_path))
      errno = 0
      guard try place.status().kind == .regular else { return false }
    } catch {
      errno = error.errno
      return false
    }
    return path.withCString { access($0, X_OK) == 0 }
  }

  private static func trusted(
    _ path: BytePath, isNeeded: Bool
  ) throws(SandboxError) -> Descriptor {
    try translating(path) { () throws(FileError) in
      try TrustedPath.findFile(path, as: isNeeded ? "The interpreter" : "The program")
    }
  }

  /// Reads the part of a file that the kernel inspects.
  private static func head(of file: Descriptor) throws(SandboxError) -> [UInt8] {
    try translating(file.path) { () throws(FileError) in
      try file.openedForReading().read(upTo: 4096, at: 0)
    }
  }

  /// Returns the loader that a program requests; none if it is linked statically. Source: elf(5).
  private static func loader(
    of file: Descriptor, _ head: [UInt8]
  ) throws(SandboxError) -> (places: [Descriptor], names: [BytePath]) {
    try translating(file.path) { () throws(FileError) in
      guard let path = try file.openedForReading().loader(head) else { return ([], []) }
      return ([try TrustedPath.findFile(path, as: "The loader")], [path])
    }
  }

  private static func translating<Result>(
    _ path: BytePath, _ body: () throws(FileError) -> Result
  ) throws(SandboxError) -> Result {
    do throws(FileError) {
      return try body()
    } catch {
      throw SandboxError(
        .program, "“\(path.printable)” can't be started. \(error.message)", path: path,
        cause: error.errno)
    }
  }
}
