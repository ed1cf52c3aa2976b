internal import CPipelinePlugin
internal import Glibc
internal import PipelineModel
internal import PipelinePlugin

/// A shared library in this process.
struct LoadedLibrary: Sendable {
  let path: BytePath
  // An address, because the handle is only ever passed back to dlsym.
  private let handle: UInt

  /// Loads a library and runs its initializers; source: dlopen(3).
  init(path: BytePath) throws(PluginFailure) {
    guard path.isAbsolute else {
      // Without a slash, dlopen would search the system's folders.
      throw PluginFailure(
        .environment, "The plugin \(path.printable) can't be loaded: its path is not absolute.")
    }
    let name = path.bytes.map { CChar(bitPattern: $0) } + [0]
    guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
      throw PluginFailure(
        .environment, "The plugin \(path.printable) can't be loaded: \(Self.error()).")
    }
    self.path = path
    self.handle = UInt(bitPattern: handle)
  }

  /// The address of an exported symbol, or `nil`.
  func symbol(_ name: String) -> UnsafeMutableRawPointer? {
    dlsym(UnsafeMutableRawPointer(bitPattern: handle), name)
  }

  /// Compares the library's Swift toolchain with this program's.
  ///
  /// Swift on Linux has no stable ABI. This reads only a constant, so none of the library's Swift
  /// code runs before its runtime is known to be the same.
  func checkToolchain() throws(PluginFailure) {
    guard let symbol = symbol(PIPELINE_PLUGIN_TOOLCHAIN) else { return }
    let text = symbol.loadUnaligned(as: UnsafePointer<CChar>?.self)
    let theirs = text.map { String(cString: $0) } ?? "nothing"
    let ours = Self.toolchain
    guard theirs == ours else {
      throw PluginFailure(
        .environment,
        "The plugin \(path.printable) was built with “\(theirs)”, this program with “\(ours)”; "
          + "build the plugin again with the program's toolchain.")
    }
  }

  /// The name of this program's toolchain.
  static var toolchain: String { String(cString: pipeline_plugin_toolchain) }

  private static func error() -> String {
    guard let text = dlerror() else { return "no reason given" }
    return String(cString: text)
  }
}
