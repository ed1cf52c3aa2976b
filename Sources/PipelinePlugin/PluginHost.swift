import CPipelinePlugin

/// The program as a plugin sees it during one job.
public struct PluginHost {
  /// The severity of a log line.
  public enum LogLevel: Int32, CaseIterable, Sendable { case debug, info, warning, error }

  private let table: UnsafePointer<pipeline_host>?
  private let job: UnsafeMutableRawPointer?

  init(table: UnsafePointer<pipeline_host>?, job: UnsafeMutableRawPointer?) {
    self.table = table
    self.job = job
  }

  /// Writes one line to the program's log.
  public func log(_ level: LogLevel, _ message: String) {
    guard let table else { return }
    var message = message
    message.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        table.pointee.log?(
          job, level.rawValue,
          pipeline_string(bytes: characters.baseAddress, length: UInt64(characters.count)))
      }
    }
  }

  /// Reports the completed fraction of the job, from 0 to 1.
  public func progress(_ fraction: Double) { table?.pointee.progress?(job, fraction) }

  /// Whether the job was cancelled; a plugin should then stop soon.
  public var isCancelled: Bool { (table?.pointee.cancelled?(job) ?? 0) != 0 }
}
