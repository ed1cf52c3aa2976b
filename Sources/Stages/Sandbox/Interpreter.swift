import Files
import Glibc
import PipelineModel

/// The first line of a script. Source: execve(2), “Interpreter scripts”; env(1).
struct Interpreter: Equatable {
  /// A path, or a name to search for.
  var program: BytePath
  /// The words between the interpreter and the script.
  var arguments: [BytePath]

  /// The kernel's limit for a first line.
  private static let longest = 256

  /// Parses a first line.
  ///
  /// Like the kernel, treats everything after the interpreter as one argument. If the interpreter
  /// is `env`, splits that argument at spaces and leaves out `env` itself.
  init(line head: [UInt8], of script: BytePath) throws(SandboxError) {
    guard head.starts(with: Array("#!".utf8)) else {
      throw SandboxError(
        .program,
        "“\(script.printable)” is neither a program of this system nor a script: "
          + "its first line must name an interpreter, such as “#!/usr/bin/env python3”.")
    }
    guard
      let line = head.dropFirst(2).prefix(Self.longest).split(
        separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false
      ).first, line.count < Self.longest - 2
    else {
      throw SandboxError(
        .program, "The first line of “\(script.printable)” is longer than \(Self.longest) bytes.")
    }
    let words = line.split(maxSplits: 1, whereSeparator: Self.isBlank)
    guard let first = words.first else {
      throw SandboxError(.program, "The first line of “\(script.printable)” names no interpreter.")
    }
    program = BytePath(bytes: first)
    arguments = words.dropFirst().map { BytePath(bytes: Self.trimmed($0)) }.filter { !$0.isEmpty }
    if program.lastComponent == "env" { try resolveEnv(script) }
  }

  private mutating func resolveEnv(_ script: BytePath) throws(SandboxError) {
    var words = (arguments.first?.bytes ?? []).split(whereSeparator: Self.isBlank)
      .map { BytePath(bytes: $0) }
    if words.first == "-S" { words.removeFirst() }
    let special = Array("\"'\\$=".utf8)
    guard let name = words.first, name.bytes.first != UInt8(ascii: "-"),
      !words.contains(where: { $0.bytes.contains { special.contains($0) } })
    else {
      throw SandboxError(
        .program,
        "The first line of “\(script.printable)” uses env for more than finding a program, "
          + "which is not supported here. Name the interpreter by its path.")
    }
    program = name
    arguments = Array(words.dropFirst())
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let start = bytes.firstIndex { !isBlank($0) } ?? bytes.endIndex
    let end = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
    return bytes[start..<max(start, end)]
  }
}

/// The modules that belong to a non-system interpreter, without anything else next to it.
///
/// For `/opt/x/bin/python3.11` these are `/opt/x/pyvenv.cfg` and, in `/opt/x/lib`, the shared
/// libraries and the folders whose names start with `python`.
struct InterpreterModules {
  /// Files, and folders with everything below them; opened with O_PATH.
  private(set) var places: [Descriptor] = []
  /// The paths by which they were found; may contain links.
  private(set) var names: [BytePath] = []

  /// Finds an interpreter's modules.
  ///
  /// Searches next to both the name it is called by and the target of links, because a Python
  /// environment is a folder with a link to the interpreter.
  ///
  /// - Parameters:
  ///   - interpreter: its file.
  ///   - name: the path or name it is called by.
  init(of interpreter: Descriptor, calledAs name: BytePath) throws(SandboxError) {
    places.append(interpreter)
    for program in [name, interpreter.path] {
      guard let prefix = Self.prefix(of: program) else { continue }
      do throws(FileError) {
        try add(prefix, kind: program.lastComponent.bytes.prefix { Self.isLetter($0) })
      } catch let error where error.code == .notFound {
        continue
      } catch {
        throw SandboxError(
          .program,
          "The modules of “\(interpreter.path.printable)” can't be used. \(error.message)")
      }
    }
  }

  /// The folder that contains a program's `bin`, unless it is the system's.
  private static func prefix(of program: BytePath) -> BytePath? {
    // A path that can't be resolved has no modules.
    guard program.isAbsolute, let folder = try? FileSystem.realPath(of: program.parent),
      folder.lastComponent == "bin", !["/", "/usr", "/usr/local"].contains(folder.parent)
    else { return nil }
    return folder.parent
  }

  private mutating func add(_ prefix: BytePath, kind: ArraySlice<UInt8>) throws(FileError) {
    try add(prefix.appending("pyvenv.cfg"), below: prefix)
    for name: BytePath in ["lib", "lib64"] {
      let path = prefix.appending(name)
      guard path.withCString({ access($0, F_OK) }) == 0 else { continue }
      for entry in try Descriptor.openFolder(path).entries()
      where Self.isModule(entry.name, kind: kind) {
        try add(path.appending(entry.name), below: prefix)
      }
    }
  }

  /// Adds a module if it exists. Skips links that lead elsewhere, such as to a home's `.ssh`: the
  /// plugin's author may have made them.
  private mutating func add(_ path: BytePath, below prefix: BytePath) throws(FileError) {
    guard path.withCString({ access($0, F_OK) }) == 0 else { return }
    let place = try TrustedPath.find(path, as: "The interpreter's module")
    guard place.path.relative(to: prefix) != nil else { return }
    places.append(place)
    names.append(path)
  }

  private static func isModule(_ name: BytePath, kind: ArraySlice<UInt8>) -> Bool {
    SystemPaths.isLibrary(name) || !kind.isEmpty && name.bytes.starts(with: kind)
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}

extension Descriptor {
  /// Reads bytes at an offset; fewer at the end of the file.
  func read(upTo count: Int, at offset: Int) throws(FileError) -> [UInt8] {
    try seek(to: offset)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
    defer { buffer.deallocate() }
    return Array(buffer.prefix(try read(into: buffer)))
  }

  /// Returns the loader that a program names, or `nil`. Source: elf(5), `PT_INTERP`.
  ///
  /// - Parameter head: the beginning of the file.
  func loader(_ head: [UInt8]) throws(FileError) -> BytePath? {
    // 64-bit little-endian only: the system call filter kills other programs.
    guard head.count >= 64, head[4] == 2, head[5] == 1 else { return nil }
    let table = Self.number(head, at: 32, size: 8)
    let size = Self.number(head, at: 54, size: 2)
    let count = Self.number(head, at: 56, size: 2)
    guard size >= 56, table < 1 << 40 else { return nil }
    for index in 0..<min(count, 256) {
      let entry = try read(upTo: 56, at: table + index * size)
      guard entry.count == 56 else { return nil }
      guard Self.number(entry, at: 0, size: 4) == PT_INTERP else { continue }
      let length = Self.number(entry, at: 32, size: 8)
      let place = Self.number(entry, at: 8, size: 8)
      guard (2...4096).contains(length), place < 1 << 40 else { return nil }
      return BytePath(bytes: try read(upTo: length, at: place).prefix { $0 != 0 })
    }
    return nil
  }

  /// Decodes a little-endian number, clamped to `Int`.
  private static func number(_ bytes: [UInt8], at offset: Int, size: Int) -> Int {
    Int(
      clamping: bytes[offset..<offset + size].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }
}
