import Files
import Glibc
import Ingest
package import PipelineModel
import Records

/// Serves an empty library of its own on a socket beside it, and asks for one answer.
package enum WebTrial {
  /// How long the answer may take.
  private static let patience = Duration.seconds(10)
  private static let request =
    "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
  private static let configuration = #"{ "library": "library", "sources": [], "stages": [] }"#

  /// - Parameter folder: an empty folder that only this user may write.
  /// - Throws: `ServingError` and other errors with a sentence on what does not work.
  package static func run(in folder: BytePath) throws {
    let opened = try Descriptor.openFolder(folder)
    try opened.writeDurably(Array(configuration.utf8), as: "pipeline.json")
    let search = ConfigurationSearch(
      file: folder.appending("pipeline.json"), workingFolder: folder)
    let library = try ConfiguredLibrary(search, makesLibrary: true).lock()
    try IngestLibrary(library.library.found, lock: library.lock, reserve: 0, report: Silence())
      .close()
    var session = try WebSession(
      search, WebOptions(place: .socket(folder.appending("web"))),
      service: ServiceManager(environment: [:]), wakeup: Wakeup(), warn: { _ in })
    var answer: Result<String, any Error> = .success("")
    try session.run(environment: [:], isStopped: { true }) { _ in
      answer = Result { try ask(opened) }
    }
    let text = try answer.get()
    guard text.hasPrefix("HTTP/1.1 200 ") else {
      let line = text.prefix { $0 != "\r\n" && $0 != "\n" }
      throw ServingError(
        .server, line.isEmpty ? "The server did not answer." : "The server answered “\(line)”.")
    }
  }

  /// Starts the server of a library whose catalog is in a database, which connects to that, and asks nothing.
  ///
  /// - Parameter folder: an empty folder that only this user may write.
  /// - Throws: errors with a sentence on what does not work; none if there is no library yet.
  package static func connect(_ search: ConfigurationSearch, in folder: BytePath) throws {
    do {
      var session = try WebSession(
        search, WebOptions(place: .socket(folder.appending("web"))),
        service: ServiceManager(environment: [:]), wakeup: Wakeup(), warn: { _ in })
      try session.run(environment: [:], isStopped: { true }) { _ in }
    } catch let error as IngestError where error.code == .notALibrary {
      return
    } catch let error as CatalogError where error.code == .missing {
      return
    }
  }

  /// Returns what the server answers until it closes the connection, or the time is up.
  private static func ask(_ folder: Descriptor) throws(FileError) -> String {
    guard let socket = try LocalSocket.connect(to: "web", in: folder) else { return "" }
    try socket.send(Array(request.utf8))
    try socket.descriptor.setNonBlocking()
    let deadline = ContinuousClock.now + patience
    var bytes: [UInt8] = []
    while ContinuousClock.now < deadline {
      do throws(FileError) {
        let next = try socket.receive()
        if next.isEmpty { break }
        bytes += next
      } catch {
        guard error.code == .busy else { throw error }
        usleep(2000)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Nobody waits for what a library without files reports.
  private final class Silence: IngestReport {
    func file(_ event: FileEvent) {}
    func committed() {}
    func warning(_ message: String) {}
  }
}
