import CPipelinePlugin
public import PipelineModel

/// One kind of work on an original, written in Swift.
///
/// A plugin is a small type, its options, and one exported function:
///
/// ```swift
/// import CPipelinePlugin
/// import PipelinePlugin
///
/// @c(pipeline_plugin_v1)
/// public func pipelinePlugin(
///   _ host: UnsafePointer<pipeline_host>?
/// ) -> UnsafePointer<pipeline_plugin>? {
///   exportPlugin(MyPlugin.self, to: host)
/// }
/// ```
///
/// The program creates one instance per lane and never calls an instance from two threads at once;
/// different instances run concurrently.
public protocol Plugin: SendableMetatype {
  /// The options of one stage, decoded from its `options` with defaults filled in.
  associatedtype Options: Decodable

  /// The plugin's description; read before any instance exists.
  static var manifest: PluginManifest { get }

  /// Creates an instance for one set of options.
  init(options: Options) throws(PluginFailure)

  /// Returns how many bytes `process` will need for a picture with these facts, or `nil`, the
  /// default, if that is unknown.
  ///
  /// - Parameter facts: the facts of needed stages, by stage name.
  func estimate(facts: [String: JSONValue]) -> Int?

  /// Runs one job.
  ///
  /// - Throws: `PluginFailure`, whose class decides whether to retry.
  func process(_ request: PluginRequest, host: PluginHost) throws(PluginFailure) -> PluginResult
}

extension Plugin {
  public func estimate(facts: [String: JSONValue]) -> Int? { nil }
}

extension Decoder {
  /// Throws if there are unknown options; names the alphabetically first one.
  ///
  /// The program checks options against the manifest's schema first. A plugin that repeats the
  /// check protects callers other than the program.
  ///
  /// - Parameter known: the names of all options.
  /// - Throws: `DecodingError`, which names the option and the known ones.
  public func refuseUnknownOptions(known: [String]) throws {
    let names = try [String: JSONValue](from: self).keys
    guard let name = names.filter({ !known.contains($0) }).min() else { return }
    let others = known.isEmpty ? "there are none" : "known are \(known.joined(separator: ", "))"
    throw DecodingError.dataCorrupted(
      .init(codingPath: codingPath, debugDescription: "“\(name)” is not an option; \(others)"))
  }
}

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

  /// Asks to end the job once its process has used some processor time for it, unless the stage sets
  /// `limits.cpu`.
  ///
  /// For libraries that can't be interrupted and that a file can keep busy for hours. The lowest of
  /// several calls counts. Such a job fails as `permanent`.
  ///
  /// - Parameter seconds: counted from the start of the job, over all threads.
  public func limitCPU(seconds: Double) {
    // A program from before this function has a shorter table.
    guard let table, let offset = MemoryLayout<pipeline_host>.offset(of: \.limit_cpu),
      Int(table.pointee.struct_size) > offset
    else { return }
    table.pointee.limit_cpu?(job, seconds)
  }

  /// Whether the job was cancelled; a plugin should then stop soon.
  public var isCancelled: Bool { (table?.pointee.cancelled?(job) ?? 0) != 0 }
}
