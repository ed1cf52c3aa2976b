internal import CPipelinePlugin
internal import PipelinePlugin

/// The functions that this program offers to plugins, as a C table that lives as long as the
/// process.
enum HostTable {
  /// The table. The caller of `process` keeps `job`, a `JobControl`, alive.
  static var pointer: UnsafePointer<pipeline_host>? { UnsafePointer(bitPattern: address) }

  private static let address: UInt = {
    let table = UnsafeMutablePointer<pipeline_host>.allocate(capacity: 1)
    table.initialize(
      to: pipeline_host(
        abi: UInt32(PIPELINE_PLUGIN_ABI),
        struct_size: UInt32(MemoryLayout<pipeline_host>.size),
        log: { job, level, message in
          guard let control = HostTable.control(job) else { return }
          let bytes = UnsafeRawBufferPointer(
            start: message.bytes, count: Int(min(message.length, 65536)))
          let known = PluginHost.LogLevel(rawValue: level) ?? .info
          control.write(known, String(decoding: bytes, as: UTF8.self))
        },
        progress: { job, fraction in HostTable.control(job)?.report(fraction) },
        cancelled: { job in HostTable.control(job)?.isCancelled == true ? 1 : 0 }))
    return UInt(bitPattern: table)
  }()

  private static func control(_ job: UnsafeMutableRawPointer?) -> JobControl? {
    job.map { Unmanaged<JobControl>.fromOpaque($0).takeUnretainedValue() }
  }
}
