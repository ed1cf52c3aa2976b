import Files
import Glibc
import PipelineModel

/// A library that is opened when it is first needed. Source: dlopen(3).
struct DynamicLibrary: @unchecked Sendable {
  // What dlopen returns may be used by any thread, and is never closed.
  private let handle: UnsafeMutableRawPointer
  private let name: String

  /// - Parameters:
  ///   - name: its file, as the linker finds it.
  ///   - package: the Debian package that has it.
  ///   - purpose: what it is needed for, at the end of a sentence.
  /// - Throws: `FileError` of code `unavailable` if it can't be opened.
  init(_ name: String, package: String, for purpose: String) throws(FileError) {
    guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
      let reason = dlerror().map { String(cString: $0) } ?? "no reason given"
      throw FileError(
        .unavailable,
        "\(name), which \(purpose) needs, can't be loaded: \(reason). Install the package "
          + "\(package).", path: nil)
    }
    self.handle = handle
    self.name = name
  }

  /// Returns a function's address.
  func symbol(_ function: String) throws(FileError) -> UnsafeMutableRawPointer {
    guard let symbol = dlsym(handle, function) else {
      throw FileError(
        .unavailable, "\(name) has no function \(function): it is of an unknown version.",
        path: nil)
    }
    return symbol
  }

  /// Returns a function.
  ///
  /// - Parameter type: the type that the library's header declares.
  func function<Function>(_ name: String, _ type: Function.Type) throws(FileError) -> Function {
    // The caller takes the type from the library's header, which keeps it for all versions of this name.
    try unsafeBitCast(symbol(name), to: type)
  }
}
