internal import CSandbox
import Files
import Glibc
import PipelineModel

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
          "The modules of “\(interpreter.path.printable)” can't be used. "
            + "\(error.message)", path: interpreter.path, cause: error.errno)
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
