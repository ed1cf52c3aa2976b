import CSandbox
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
    throw SandboxError(.program, "“\(program.printable)” has too many nested interpreters.")
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
          + (code == EACCES ? " Is it executable? (chmod +x)" : ""))
    }
    for folder in SystemPaths.search {
      let path = folder.appending(program)
      if isProgram(path) { return try trusted(path, isNeeded: script != nil) }
    }
    let places = SystemPaths.search.map(\.printable).joined(separator: ", ")
    throw SandboxError(
      .program, "The program “\(program.printable)”\(needed) is not in any of \(places).")
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

  private static func trusted(_ path: BytePath, isNeeded: Bool) throws(SandboxError) -> Descriptor {
    try translating(
      path, try TrustedPath.findFile(path, as: isNeeded ? "The interpreter" : "The program"))
  }

  /// Reads the part of a file that the kernel inspects.
  private static func head(of file: Descriptor) throws(SandboxError) -> [UInt8] {
    try translating(file.path, try file.openedForReading().read(upTo: 4096, at: 0))
  }

  /// Returns the loader that a program requests; none if it is linked statically. Source: elf(5).
  private static func loader(
    of file: Descriptor, _ head: [UInt8]
  ) throws(SandboxError) -> (places: [Descriptor], names: [BytePath]) {
    let path = try translating(file.path, try file.openedForReading().loader(head))
    guard let path else { return ([], []) }
    let loader = try translating(file.path, try TrustedPath.findFile(path, as: "The loader"))
    return ([loader], [path])
  }

  private static func translating<Result>(
    _ path: BytePath, _ body: @autoclosure () throws(FileError) -> Result
  ) throws(SandboxError) -> Result {
    do throws(FileError) {
      return try body()
    } catch {
      throw SandboxError(.program, "“\(path.printable)” can't be started. \(error.message)")
    }
  }
}

/// A path, its arguments and its environment at addresses that nobody can guess.
///
/// A system call filter sees addresses, not their contents. Once the program has been replaced, its
/// memory is gone and nobody knows the addresses, so the filter can allow this one call and no
/// later one.
struct SecretMemory {
  /// The path, and the null-terminated lists of arguments and environment variables.
  let path: UnsafeMutableRawPointer
  let arguments: UnsafeMutableRawPointer
  let environment: UnsafeMutableRawPointer

  /// Copies the arguments of execve(2) to secret addresses.
  init(path: [UInt8], arguments: [[UInt8]], environment: [[UInt8]]) throws(SandboxError) {
    self.path = try Self.copy(path + [0])
    self.arguments = try Self.list(arguments)
    self.environment = try Self.list(environment)
  }

  private static func list(_ texts: [[UInt8]]) throws(SandboxError) -> UnsafeMutableRawPointer {
    var addresses: [UInt] = []
    for text in texts { addresses.append(UInt(bitPattern: try copy(text + [0]))) }
    return try copy((addresses + [0]).withUnsafeBytes { Array($0) })
  }

  /// Copies bytes to a random address: a random page, and a random offset in it.
  private static func copy(_ bytes: [UInt8]) throws(SandboxError) -> UnsafeMutableRawPointer {
    let page = Int(getpagesize())
    // Swift's random numbers come from the kernel and suit secrets. Multiples of eight, to align
    // the lists of addresses.
    let offset = Int.random(in: 0..<page / 8) * 8
    let size = offset + bytes.count
    // Some processors have shorter addresses; all supported ones have memory below 2^38.
    for bits in [46, 46, 46, 46, 38, 38, 38, 38] {
      let place = UInt.random(in: 1..<1 << bits) / UInt(page) * UInt(page)
      let memory = mmap(
        UnsafeMutableRawPointer(bitPattern: place), size, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | Int32(pipeline_map_fixed), -1, 0)
      guard let memory, memory != MAP_FAILED else { continue }
      // A kernel that does not know the flag takes the address as a hint.
      guard UInt(bitPattern: memory) == place else {
        munmap(memory, size)
        continue
      }
      let start = memory + offset
      UnsafeMutableRawBufferPointer(start: start, count: bytes.count).copyBytes(from: bytes)
      return start
    }
    throw SandboxError(.system, "No memory could be reserved to start a program from.")
  }
}
