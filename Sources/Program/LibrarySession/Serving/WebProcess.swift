import Files
import Glibc
import PipelineModel
import Synchronization

/// The process that answers HTTP, as the one sees it that started it.
final class WebProcess: Sendable {
  let child: ChildProcess
  /// This end of its channel. The other end is open in that process alone, so that the channel ends with it.
  let channel: Descriptor
  private let isLost = Atomic(false)

  /// How long it may take to end.
  private static let patience = Duration.seconds(5)

  /// Starts it.
  ///
  /// - Parameter environment: all of its variables, as `NAME=VALUE`.
  init(_ listener: Descriptor, environment: [BytePath]) throws {
    guard let program = WebSession.program else {
      throw ServingError(
        .server,
        "The program pipeline-web is missing: this pipeline was built without libmicrohttpd.")
    }
    let (own, other) = try Descriptor.makeSocketPair("the channel to the server")
    let null = try Descriptor.open("/dev/null", flags: O_RDWR)
    let errors = try CurrentProcess.duplicate(STDERR_FILENO, path: "standard error")
    child = try ChildProcess.start(
      program, arguments: ["pipeline-web"], environment: environment,
      descriptors: [null, null, errors, listener, other])
    channel = own
  }

  /// Tells it what to do, and waits until it is ready.
  func launch(_ launch: WebLaunch) throws {
    let line = Array((try JSONText.encode(launch) + "\n").utf8)
    // A channel that can't be used is that of a process that ended.
    guard (try? channel.write(line)) != nil else { throw WebSession.ended }
    try WebReadiness.wait(on: channel)
  }

  /// Whether it has said that its database can't be reached any more.
  var hasLostDatabase: Bool { isLost.load(ordering: .relaxed) }

  func noteLostDatabase() { isLost.store(true, ordering: .relaxed) }

  /// Ends it, by the end of its channel.
  func end() {
    channel.disconnect()
    let deadline = ContinuousClock.now + Self.patience
    while child.reap() == nil {
      if ContinuousClock.now >= deadline {
        child.signalGroup(SIGKILL)
        return
      }
      usleep(2000)
    }
  }
}
