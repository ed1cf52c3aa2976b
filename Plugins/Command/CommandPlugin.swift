public import CPipelinePlugin
import Glibc
import PipelineModel
import PipelinePlugin
import Spawn

/// Runs a user's program for each asset.
///
/// The program is started without a shell, so no file name is interpreted.
final class CommandPlugin: Plugin {
  static let manifest = PluginManifest(
    id: "command", version: "1.1.0", outputVersion: 1, scope: .asset,
    options: CommandOptions.schema, facts: ["output", "cut"], makesRenditions: true,
    renditions: ["/renditions/*/name"], runtime: "posix_spawn")

  /// The most bytes of standard output that become a text or an object.
  private static let greatestText = 64 << 10
  private static let greatestObject = 1 << 20

  private let options: CommandOptions
  private let path: String

  init(options: CommandOptions) throws(PluginFailure) {
    self.options = options
    path = try Self.find(options.program)
  }

  func process(_ request: PluginRequest, host: PluginHost) throws(PluginFailure) -> PluginResult {
    let arguments = options.arguments.map { $0.filled { Self.value($0, request) } }
    let program: SpawnedProgram
    do throws(SpawnError) {
      program = try SpawnedProgram(
        path, arguments, in: request.output,
        outputLimit: options.facts == .text ? Self.greatestText : Self.greatestObject)
    } catch {
      throw failure(error)
    }
    let ending = program.wait(isCancelled: { host.isCancelled })
    guard !host.isCancelled else { throw PluginFailure(.transient, "The job was cancelled.") }
    switch ending {
    case .exit(let code) where options.success.contains(code):
      return .done(
        facts: try facts(program.output), renditions: try renditions(in: request.output))
    case .exit(let code):
      let reason = "\(name) ended with exit code \(code)\(Self.lastWords(program.errors))"
      if options.skip.contains(code) { return .skipped(reason: reason) }
      throw PluginFailure(options.transient.contains(code) ? .transient : .permanent, reason)
    case .signal(let number):
      throw PluginFailure(
        .transient, "\(name) was killed by signal \(number)\(Self.lastWords(program.errors))")
    case .unknown:
      throw PluginFailure(.transient, "The exit code of \(name) is unknown.")
    }
  }

  /// The program's name in messages, once it runs.
  private var name: String {
    "The program “\(options.program.split(separator: "/").last.map(String.init) ?? "/")”"
  }

  private static func value(_ place: Template.Placeholder, _ request: PluginRequest) -> String {
    switch place {
    case .input: request.input
    case .output: request.output
    case .name: request.asset.name
    case .id: request.asset.id.description
    case .digest: request.asset.digest.description
    // Independent of the identifying stage's name.
    case .mediaType:
      request.facts["identify"]?["mediaType"]?.string
        ?? request.facts.values.compactMap { $0["mediaType"]?.string }.min()
        ?? "application/octet-stream"
    }
  }

  /// Finds a program that is named without a folder, independent of `PATH`.
  private static func find(_ program: String) throws(PluginFailure) -> String {
    guard !program.contains("/") else { return program }
    let folders = ["/usr/local/bin", "/usr/bin", "/bin"]
    let places = folders.map { "\($0)/\(program)" }
    guard let found = places.first(where: { access($0, X_OK) == 0 }) else {
      // A sandbox that starts no programs does not show their folders.
      guard folders.contains(where: { access($0, F_OK) == 0 }) else { throw refusal(program) }
      throw PluginFailure(
        .environment,
        "The program “\(program)” is in none of \(folders.joined(separator: ", ")). "
          + "Install it, or name it by its path.")
    }
    return found
  }

  private static func refusal(_ program: String) -> PluginFailure {
    PluginFailure(
      .environment,
      "The program “\(program)” can't be started: the sandbox refuses to start programs. Give the "
        + "stage “\"allow\": {\"exec\": true}”.")
  }

  private func failure(_ error: SpawnError) -> PluginFailure {
    let name = "The program “\(options.program)”"
    return switch error.number {
    case EPERM: Self.refusal(options.program)
    case EACCES, ENOENT:
      PluginFailure(
        .environment,
        "\(name) can't be started (\(error.words)): it is missing, not executable, or outside the "
          + "system's folders, where the sandbox starts no programs. A script elsewhere can be "
          + "passed to its interpreter, with “\"allow\": {\"exec\": true, \"read\": [FOLDER]}”.")
    case ENOTDIR, ENOEXEC, ELOOP:
      PluginFailure(.environment, "\(name) can't be started: \(error.words).")
    case E2BIG:
      PluginFailure(.permanent, "\(name) can't be started: its arguments are too long.")
    default:
      PluginFailure(
        .transient, "\(name) can't be started: can't \(error.operation): \(error.words).")
    }
  }

  /// The declared pictures, with the sizes that they tell.
  private func renditions(in folder: String) throws(PluginFailure) -> [PluginRendition] {
    var made: [PluginRendition] = []
    for rendition in options.renditions {
      let path = "\(folder)/\(rendition.file)"
      var status = stat()
      guard lstat(path, &status) == 0 else {
        if rendition.optional == true { continue }
        throw PluginFailure(
          .permanent,
          "\(name) made no file “\(rendition.file)” for the rendition \(rendition.name).")
      }
      guard let header = PictureHeader(path: path), header.kind == rendition.mediaType else {
        throw PluginFailure(
          .permanent,
          "The file “\(rendition.file)” that \(name.prefix(1).lowercased() + name.dropFirst()) made is "
            + "no picture of the type \(rendition.mediaType.rawValue).")
      }
      made.append(
        PluginRendition(
          name: rendition.name, path: rendition.file, mediaType: header.kind.rawValue,
          width: header.width, height: header.height))
    }
    return made
  }

  private func facts(_ output: OutputPipe) throws(PluginFailure) -> JSONValue {
    switch options.facts {
    case .none: return [:]
    case .text:
      let text = String(decoding: output.bytes, as: UTF8.self)
      return output.isCut ? ["output": .string(text), "cut": true] : ["output": .string(text)]
    case .json:
      guard !output.isCut else {
        throw PluginFailure(
          .permanent, "\(name) printed more than \(Self.greatestObject >> 20) MiB.")
      }
      return try object(output.bytes)
    }
  }

  private func object(_ bytes: [UInt8]) throws(PluginFailure) -> JSONValue {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONText.decode(JSONValue.self, from: bytes)
    } catch {
      throw PluginFailure(.permanent, "\(name) did not print a JSON object. \(error.message)")
    }
    switch value {
    case .object: return value
    // Programs such as exiftool print a list even for a single file.
    case .array(let elements) where elements.count == 1 && elements[0].object != nil:
      return elements[0]
    default: throw PluginFailure(.permanent, "\(name) printed JSON that is not an object.")
    }
  }

  /// The last lines of standard error, as the end of a sentence.
  private static func lastWords(_ errors: OutputPipe) -> String {
    let lines = String(decoding: errors.bytes, as: UTF8.self)
      .split(whereSeparator: \.isNewline).suffix(2)
      .map { line in line.filter { !($0.asciiValue.map { $0 < 0x20 || $0 == 0x7F } ?? false) } }
    let text = lines.joined(separator: " / ").suffix(200)
    return text.isEmpty ? "." : ": \(text)" + (text.hasSuffix(".") ? "" : ".")
  }
}

/// The function that this library exports.
@c(pipeline_plugin_v1)
public func pipelinePlugin(
  _ host: UnsafePointer<pipeline_host>?
) -> UnsafePointer<pipeline_plugin>? {
  exportPlugin(CommandPlugin.self, to: host)
}
