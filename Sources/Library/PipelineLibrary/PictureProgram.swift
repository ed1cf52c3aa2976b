import Files
import Foundation
import Glibc
import PipelineModel
import Spawn
import Synchronization

/// The installed program, which makes pictures for other programs by its verb `get`.
///
/// What decodes strangers' files runs in its sandboxed workers, never in the program that asks.
final class PictureProgram: Sendable {
  private let path: BytePath?
  private let configuration: BytePath?
  private let places = PicturePlaces(most: 8)

  /// - Parameters:
  ///   - path: the program; `nil` for the first one in `PATH`.
  ///   - configuration: its configuration; `nil` for the one that it finds.
  init(path: BytePath?, configuration: BytePath?) {
    self.path = path
    self.configuration = configuration
  }

  func picture(
    of id: AssetID, in library: String, _ request: PictureRequest, acceptsStale: Bool
  ) async throws(LibraryError) -> Picture {
    let program = try find()
    let words = words(id, request, acceptsStale: acceptsStale)
    await places.enter()
    let run = PictureRun()
    let output = await withTaskCancellationHandler {
      await run.output(of: program, words)
    } onCancel: {
      run.cancel()
    }
    await places.leave()
    do throws(LibraryError) {
      return try Self.picture(from: try output.get(), of: library, program)
    } catch {
      throw Task.isCancelled ? .cancelled : error
    }
  }

  private func words(
    _ id: AssetID, _ request: PictureRequest, acceptsStale: Bool
  ) -> [BytePath] {
    var words: [BytePath] = [
      "pipeline", "get", BytePath(id.description), "--max-pixel-size",
      BytePath("\(request.maxPixelSize)"), "--describe", "--json", "--quiet", "--output", "-",
    ]
    if let region = request.region {
      words += ["--region", BytePath("\(region.x),\(region.y),\(region.width),\(region.height)")]
    }
    if let format = request.format { words += ["--format", BytePath(format.rawValue)] }
    if acceptsStale { words.append("--accept-stale") }
    if let configuration { words += ["--config", configuration] }
    return words
  }

  private func find() throws(LibraryError) -> BytePath {
    if let path { return path }
    let folders = (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":")
    for folder in folders where folder.hasPrefix("/") {
      let place = "\(folder)/pipeline"
      if access(place, X_OK) == 0 { return BytePath(place) }
    }
    throw LibraryError(
      .noProgram,
      "There is no program “pipeline” in PATH, which makes pictures: install it, or name it when the "
        + "library is opened.")
  }

  private struct Description: Decodable {
    var bytes: Int
    var mediaType: String
    var width: Int
    var height: Int
    var isStale: Bool
    var library: String
    var damage: String?
  }

  private static func picture(
    from output: [UInt8], of library: String, _ program: BytePath
  ) throws(LibraryError) -> Picture {
    let end = output.firstIndex(of: UInt8(ascii: "\n")) ?? output.endIndex
    let line = try? JSONText.decode(JSONValue.self, from: output[..<end])
    if let line, line["event"]?.string == "error" { throw error(line) }
    let rest = output[end...].dropFirst()
    // An incomplete answer is that of a program that was ended.
    guard let described = try? line?.decoded(as: Description.self), described.bytes == rest.count
    else {
      throw LibraryError(
        .noProgram,
        "“\(program.printable)” ended without a picture: it was killed, or is older than this library."
      )
    }
    guard described.library == library else {
      throw LibraryError(
        .noProgram,
        "“\(program.printable)” found the configuration of another library: name this one's when the "
          + "library is opened.")
    }
    return Picture(
      data: Data(rest), type: described.mediaType, width: described.width,
      height: described.height, isStale: described.isStale, damage: described.damage)
  }

  private static func error(_ line: JSONValue) -> LibraryError {
    let codes: [String: LibraryError.Code] = [
      "badRequest": .badRequest, "notAPicture": .noPicture, "undecodable": .noPicture,
      "damaged": .damaged, "file": .unreadable,
      // Of the machine: what a picture lacks has one of the codes above.
      "plugin": .noProgram,
    ]
    let code = line["code"]?.string.flatMap { codes[$0] } ?? .noProgram
    return LibraryError(code, line["message"]?.string ?? "The program gave no reason.")
  }
}

/// One run of the program.
private final class PictureRun: Sendable {
  private struct State {
    var process: Int32?
    var isCancelled = false
  }

  private let state = Mutex(State())

  /// Runs it to its end, on a thread of its own, and returns what it printed.
  func output(
    of program: BytePath, _ words: [BytePath]
  ) async -> Result<[UInt8], LibraryError> {
    await withCheckedContinuation { continuation in
      do throws(FileError) {
        try DedicatedThread.start { [self] in
          continuation.resume(returning: run(program, words))
        }
      } catch {
        continuation.resume(returning: .failure(LibraryError(error)))
      }
    }
  }

  func cancel() {
    state.withLock { state in
      state.isCancelled = true
      if let process = state.process { kill(process, SIGTERM) }
    }
  }

  private func run(_ program: BytePath, _ words: [BytePath]) -> Result<[UInt8], LibraryError> {
    do {
      let reading = try start(program, words)
      defer { reap() }
      return .success(try Self.readToEnd(reading))
    } catch let error as SpawnError {
      return .failure(
        LibraryError(.noProgram, "“\(program.printable)” can't be started: \(error.words)."))
    } catch {
      return .failure(LibraryError(error))
    }
  }

  /// Starts it.
  ///
  /// - Returns: what it prints; no other process has the end that it writes to.
  private func start(_ program: BytePath, _ words: [BytePath]) throws -> Descriptor {
    let environment = ProcessInfo.processInfo.environment.map { BytePath("\($0)=\($1)") }
    let pipe = try PipeEnds(program)
    // What it says besides would be in the way of what this program prints.
    let silence = try Descriptor.open("/dev/null", flags: O_WRONLY)
    try state.withLock { state in
      if state.isCancelled { throw LibraryError(.noPicture, "Nobody waits for the picture.") }
      state.process = try Program.start(
        program, arguments: words, environment: environment,
        descriptors: [nil, pipe.writing.number, silence.number])
    }
    return withExtendedLifetime((pipe.writing, silence)) { pipe.reading }
  }

  private static func readToEnd(_ reading: Descriptor) throws(FileError) -> [UInt8] {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = try buffer.withUnsafeMutableBytes { bytes in
        Result { () throws(FileError) in try reading.read(into: bytes) }
      }.get()
      if count == 0 { return all }
      all += buffer[..<count]
    }
  }

  /// Waits for its end, unless the program that asks reaps all its children.
  private func reap() {
    guard let process = state.withLock({ $0.process }) else { return }
    // Not reaped yet, so that a signal can't reach a stranger.
    var information = siginfo_t()
    while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    state.withLock { $0.process = nil }
    while waitpid(process, nil, 0) < 0, errno == EINTR {}
  }
}

/// The places for programs that run at once; who finds none free waits, in order.
private actor PicturePlaces {
  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(most: Int) { free = most }

  func enter() async {
    if free > 0 {
      free -= 1
    } else {
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  func leave() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}
