import CPipelinePlugin
import Glibc
import PipelineModel
import PipelinePlugin

/// The checked functions of one plugin, with Swift strings.
///
/// `@unchecked Sendable` because the tables are constants that live as long as the process;
/// instances keep the threading rules.
struct PluginTable: @unchecked Sendable {
  private let functions: UnsafePointer<pipeline_plugin>
  private let name: String

  private typealias Entry =
    @convention(c) (UnsafePointer<pipeline_host>?) -> UnsafePointer<pipeline_plugin>?

  /// Calls the library's exported function and checks the table that it returns.
  init(_ library: LoadedLibrary) throws(PluginFailure) {
    let name = library.path.printable
    guard let symbol = library.symbol(PIPELINE_PLUGIN_ENTRY) else {
      throw PluginFailure(
        .permanent, "\(name) is not a plugin: it doesn't export \(PIPELINE_PLUGIN_ENTRY).")
    }
    // The header declares this symbol's type; C can't check it.
    let entry = unsafeBitCast(symbol, to: Entry.self)
    guard let table = entry(HostTable.pointer) else {
      throw PluginFailure(
        .environment, "The plugin \(name) can't work with ABI \(PIPELINE_PLUGIN_ABI).")
    }
    guard table.pointee.abi == UInt32(PIPELINE_PLUGIN_ABI) else {
      throw PluginFailure(
        .environment,
        "The plugin \(name) speaks ABI \(table.pointee.abi), this program \(PIPELINE_PLUGIN_ABI).")
    }
    // Every field of version 1 must be present; later versions may append more.
    guard table.pointee.struct_size >= UInt32(MemoryLayout<pipeline_plugin>.size) else {
      throw PluginFailure(
        .permanent,
        "The plugin \(name) returned a table of \(table.pointee.struct_size) bytes; "
          + "version 1 has \(MemoryLayout<pipeline_plugin>.size).")
    }
    guard table.pointee.manifest != nil, table.pointee.create != nil,
      table.pointee.destroy != nil, table.pointee.process != nil, table.pointee.release != nil
    else {
      throw PluginFailure(.permanent, "The plugin \(name) leaves out a function of its table.")
    }
    functions = table
    self.name = name
  }

  func manifest() throws(PluginFailure) -> PluginManifest {
    guard let text = copyAndRelease(functions.pointee.manifest?() ?? pipeline_string()) else {
      throw failure("returned a manifest that is not UTF-8.")
    }
    let manifest: PluginManifest
    do throws(MessageError) {
      manifest = try PluginManifest(PluginMessage.value(of: text.utf8))
    } catch {
      throw failure("returned a manifest that can't be decoded: \(error.message).")
    }
    if let fault = ManifestCheck.fault(in: manifest) {
      throw failure("returned a manifest in which \(fault).")
    }
    return manifest
  }

  private func failure(_ what: String) -> PluginFailure {
    PluginFailure(.permanent, "The plugin \(name) \(what)")
  }

  func create(_ options: String) throws(PluginFailure) -> UnsafeMutableRawPointer {
    var failure = pipeline_string()
    let instance = withString(options) { functions.pointee.create?($0, &failure) }
    let text = copyAndRelease(failure)
    if let instance { return instance }
    // A failure that can't be decoded is reported below.
    if let text, let failure = try? PluginFailure(PluginMessage.value(of: text.utf8)) {
      throw failure
    }
    throw self.failure("can't be set up, and returned no readable reason.")
  }

  func destroy(_ instance: UnsafeMutableRawPointer) { functions.pointee.destroy?(instance) }

  func estimate(_ instance: UnsafeMutableRawPointer, _ facts: String) -> Int? {
    guard let estimate = functions.pointee.estimate else { return nil }
    let bytes = withString(facts) { estimate(instance, $0) }
    return bytes < 0 ? nil : Int(bytes)
  }

  /// Runs a job and returns the plugin's answer, or `nil` if it is not UTF-8.
  func process(
    _ instance: UnsafeMutableRawPointer, _ request: String, job: UnsafeMutableRawPointer
  ) -> String? {
    copyAndRelease(
      withString(request) { functions.pointee.process?(instance, $0, job) } ?? pipeline_string())
  }

  private func withString<Result>(_ text: String, _ body: (pipeline_string) -> Result) -> Result {
    var text = text
    return text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        body(pipeline_string(bytes: characters.baseAddress, length: UInt64(characters.count)))
      }
    }
  }

  private func copyAndRelease(_ string: pipeline_string) -> String? {
    guard let bytes = string.bytes else { return string.length == 0 ? "" : nil }
    defer { functions.pointee.release?(string) }
    guard string.length <= Self.longestAnswer else { return nil }
    return String(
      validating: UnsafeRawBufferPointer(start: bytes, count: Int(string.length)), as: UTF8.self)
  }

  /// The longest string accepted from a plugin: 64 MiB.
  private static let longestAnswer: UInt64 = 64 << 20
}

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
    let ours = String(cString: pipeline_plugin_toolchain)
    guard theirs == ours else {
      throw PluginFailure(
        .environment,
        "The plugin \(path.printable) was built with “\(theirs)”, this program with “\(ours)”; "
          + "build the plugin again with the program's toolchain.")
    }
  }

  private static func error() -> String {
    guard let text = dlerror() else { return "no reason given" }
    return String(cString: text)
  }
}
