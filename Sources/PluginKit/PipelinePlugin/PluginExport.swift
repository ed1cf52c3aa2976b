public import CPipelinePlugin
import PipelineModel
import Synchronization

/// Returns a plugin's C table, for the function that its library exports.
///
/// A library exports one plugin; later calls for another type are ignored.
///
/// - Parameters:
///   - type: the plugin.
///   - host: the table that the exported function received.
/// - Returns: a table that lives as long as the process, or `nil` if the host's ABI is not this
///   SDK's.
public func exportPlugin<Exported: Plugin>(
  _ type: Exported.Type, to host: UnsafePointer<pipeline_host>?
) -> UnsafePointer<pipeline_plugin>? {
  guard let host, host.pointee.abi == UInt32(PIPELINE_PLUGIN_ABI) else { return nil }
  let export = Export(
    hostAddress: UInt(bitPattern: host),
    manifest: { try JSONText.encode(Exported.manifest) },
    create: { options throws(PluginFailure) in try Instance(Exported.self, options: options) })
  return Export.shared.withLock { shared in
    if shared == nil { shared = export }
    return UnsafePointer(bitPattern: Export.table)
  }
}

/// The plugin of this library, type-erased because C functions can't be generic.
struct Export: Sendable {
  let hostAddress: UInt
  let manifest: @Sendable () throws -> String
  let create: @Sendable (String) throws(PluginFailure) -> Instance

  static let shared = Mutex<Export?>(nil)

  static var current: Export? { shared.withLock { $0 } }

  /// The address of the table, which is allocated once and never freed.
  static let table: UInt = {
    let table = UnsafeMutablePointer<pipeline_plugin>.allocate(capacity: 1)
    table.initialize(
      to: pipeline_plugin(
        abi: UInt32(PIPELINE_PLUGIN_ABI),
        struct_size: UInt32(MemoryLayout<pipeline_plugin>.size),
        manifest: { Export.manifestString() },
        create: { Export.makeInstance($0, $1) },
        destroy: { Export.destroy($0) },
        estimate: { Export.estimate($0, $1) },
        process: { Export.process($0, $1, $2) },
        release: { Export.release($0) }))
    return UInt(bitPattern: table)
  }()
}

/// An instance of a plugin, type-erased like `Export`.
final class Instance {
  fileprivate let estimate: (_ facts: String) -> Int?
  fileprivate let process: (_ request: String, PluginHost) -> PluginResult

  fileprivate init<Exported: Plugin>(_: Exported.Type, options text: String) throws(PluginFailure) {
    let options: Exported.Options
    do {
      options = try JSONText.decode(Exported.Options.self, from: text)
    } catch {
      throw PluginFailure(.environment, "The options can't be used: \(error.clause).")
    }
    let plugin = try Exported(options: options)
    estimate = { text in
      // With unreadable facts the estimate is unknown.
      let facts = try? JSONText.decode([String: JSONValue].self, from: text)
      return facts.flatMap { plugin.estimate(facts: $0) }
    }
    process = { text, host in
      let request: PluginRequest
      do {
        request = try JSONText.decode(PluginRequest.self, from: text)
      } catch {
        return .failed(PluginFailure(.environment, "The request can't be read: \(error.clause)."))
      }
      do throws(PluginFailure) {
        return try plugin.process(request, host: host)
      } catch {
        return .failed(error)
      }
    }
  }
}

extension Export {
  fileprivate static func manifestString() -> pipeline_string {
    // A manifest is plain data; if it can't be encoded, the host reports that.
    owned((try? current?.manifest()) ?? "")
  }

  fileprivate static func makeInstance(
    _ options: pipeline_string, _ failure: UnsafeMutablePointer<pipeline_string>?
  ) -> UnsafeMutableRawPointer? {
    guard let current else { return nil }
    do throws(PluginFailure) {
      return Unmanaged.passRetained(try current.create(text(options))).toOpaque()
    } catch {
      // A failure is plain data; the host reports an empty one as unreadable.
      failure?.pointee = owned((try? JSONText.encode(error)) ?? "")
      return nil
    }
  }

  fileprivate static func destroy(_ instance: UnsafeMutableRawPointer?) {
    guard let instance else { return }
    Unmanaged<Instance>.fromOpaque(instance).release()
  }

  fileprivate static func estimate(
    _ instance: UnsafeMutableRawPointer?, _ facts: pipeline_string
  ) -> Int64 {
    guard let instance else { return -1 }
    let plugin = Unmanaged<Instance>.fromOpaque(instance).takeUnretainedValue()
    return Int64(plugin.estimate(text(facts)) ?? -1)
  }

  fileprivate static func process(
    _ instance: UnsafeMutableRawPointer?, _ request: pipeline_string,
    _ job: UnsafeMutableRawPointer?
  ) -> pipeline_string {
    guard let instance, let current else { return owned("") }
    let plugin = Unmanaged<Instance>.fromOpaque(instance).takeUnretainedValue()
    let host = PluginHost(table: UnsafePointer(bitPattern: current.hostAddress), job: job)
    let result = plugin.process(text(request), host)
    // A result is plain data; the host reports an empty answer.
    return owned((try? JSONText.encode(result)) ?? "")
  }

  fileprivate static func release(_ string: pipeline_string) {
    UnsafeMutablePointer(mutating: string.bytes)?.deallocate()
  }

  private static func text(_ string: pipeline_string) -> String {
    let bytes = UnsafeRawBufferPointer(start: string.bytes, count: Int(string.length))
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func owned(_ text: String) -> pipeline_string {
    let bytes = Array(text.utf8)
    guard !bytes.isEmpty else { return pipeline_string(bytes: nil, length: 0) }
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
    for (index, byte) in bytes.enumerated() {
      (copy + index).initialize(to: CChar(bitPattern: byte))
    }
    return pipeline_string(bytes: copy, length: UInt64(bytes.count))
  }
}
