internal import PipelineModel
internal import PipelinePlugin

/// One plugin instance in this process, for one call at a time.
final class LibraryInstance: Sendable {
  private let table: PluginTable
  private let plugin: String
  private let instance: UInt

  init(_ table: PluginTable, plugin: String, options: JSONValue) throws(PluginFailure) {
    let text: String
    do {
      text = try JSONText.encode(options)
    } catch {
      throw PluginFailure(.environment, "The options of \(plugin) can't be encoded: \(error)")
    }
    self.table = table
    self.plugin = plugin
    instance = UInt(bitPattern: try table.create(text))
  }

  deinit {
    if let pointer = UnsafeMutableRawPointer(bitPattern: instance) { table.destroy(pointer) }
  }

  /// Returns how many bytes a job with these facts will need, or `nil` if unknown.
  func estimate(facts: [String: JSONValue]) -> Int? {
    guard let pointer = UnsafeMutableRawPointer(bitPattern: instance),
      let text = try? JSONText.encode(facts)
    else { return nil }
    return table.estimate(pointer, text)
  }

  /// Runs a job and returns the plugin's checked answer.
  func answer(to request: PluginRequest, _ job: JobControl) -> PluginResult {
    guard let pointer = UnsafeMutableRawPointer(bitPattern: instance),
      let text = try? JSONText.encode(request)
    else { return .failed(PluginFailure(.environment, "The request can't be encoded.")) }
    // The caller retains it for the duration of this call.
    let control = Unmanaged.passUnretained(job).toOpaque()
    let answer = withExtendedLifetime(job) { table.process(pointer, text, job: control) }
    guard let answer else {
      return .failed(
        PluginFailure(.permanent, "The plugin \(plugin) returned an answer that is not UTF-8."))
    }
    do throws(MessageError) {
      let result = try PluginResult(PluginMessage.value(of: answer.utf8))
      guard let fault = ResultCheck.fault(in: result) else { return result }
      return .failed(
        PluginFailure(.permanent, "The plugin \(plugin) returned an answer in which \(fault)."))
    } catch {
      return .failed(
        PluginFailure(
          .permanent,
          "The plugin \(plugin) returned an answer that can't be decoded: \(quoted(answer)): "
            + "\(error.message)."))
    }
  }
}
